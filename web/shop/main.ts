// The buyer's page: one sale, one button, one order. What it shows is decided in model.ts.

import { Buyer, type Order, type Outcome, type Progress } from '../client/src/index.ts';
import { type Model, type Sale, START, stateAt } from './model.ts';
import { signIn } from './session.ts';
import { draw, onPress, type Scene } from './view.ts';
import { type Language, preferred, say } from './words.ts';

/** How often the sale is asked for, in milliseconds, while the page is looked at and while it is not. */
const POLL = { seen: 1_000, hidden: 15_000 };
/** How often what depends on the time is drawn. */
const TICK = 250;

const sku = new URLSearchParams(location.search).get('sku') ?? 'demo';
const jwt = signIn(location, history, sessionStorage);
const model: Model = { ...START, signedIn: jwt !== '' };
const scene: Scene = { language: language(), title: '', currency: 'CNY', trouble: '' };
let watching: AbortController | undefined;

const buyer = new Buyer({ sku, authorization: () => (jwt ? `Bearer ${jwt}` : ''), onProgress });

function language(): Language {
  const chosen = localStorage.getItem('shop:language');
  return chosen === 'en' || chosen === 'zh' ? chosen : preferred(navigator.languages);
}

function redraw(): void {
  draw(model, scene, buyer.clock.now());
}

function onProgress(progress: Progress): void {
  model.progress = progress;
  if (progress.step === 'waiting') model.waitUntil = buyer.clock.now() + progress.ms;
  redraw();
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Follows the sale as long as the page is open. */
async function follow(): Promise<void> {
  for (;;) {
    const { status, body, retryAfter } = await buyer.sale();
    model.away = status === 0 || status >= 500;
    if (status === 200) model.sale = body as unknown as Sale;
    if (status === 404) model.sale = null;
    if (status === 200 && !scene.title) void describe();
    redraw();
    const rest = document.hidden ? POLL.hidden : POLL.seen;
    // Pages that were opened together must not ask together.
    await pause(Math.max(retryAfter ?? 0, rest) * (0.9 + 0.2 * Math.random()));
  }
}

/** Title and currency, which do not change. */
async function describe(): Promise<void> {
  const { status, body } = await buyer.call('GET', `/v1/sales/${encodeURIComponent(sku)}/details`);
  if (status !== 200) return;
  scene.title = String(body.title ?? sku);
  scene.currency = String(body.currency ?? scene.currency);
  redraw();
}

async function buy(): Promise<void> {
  if (model.submitting) return;
  Object.assign(model, { submitting: true, outcome: undefined, progress: undefined });
  if (model.order) model.order = undefined;
  redraw();
  const outcome = await buyer.submit({ quantity: 1 });
  Object.assign(model, { submitting: false, outcome });
  have(outcome);
  redraw();
}

function have(outcome: Outcome): void {
  if (outcome.kind === 'placed') watch({ order_id: outcome.orderId, status: outcome.status });
  if (outcome.kind === 'already_bought' && outcome.orderId) watch({ order_id: outcome.orderId, status: 'queued' });
}

/** Shows an order, and follows it until it ends or another one is shown. */
function watch(order: Order): void {
  watching?.abort();
  watching = new AbortController();
  const { signal } = watching;
  model.order = order;
  redraw();
  void (async () => {
    for await (const seen of buyer.watch(order.order_id, signal)) {
      model.order = seen;
      redraw();
    }
  })().catch(() => undefined);
}

/** Pays or cancels the order that is shown. */
async function act(what: 'cancel' | 'simulated-payment'): Promise<void> {
  const { order } = model;
  if (!order || model.acting) return;
  model.acting = true;
  scene.trouble = '';
  redraw();
  const { status, code, body } =
    what === 'cancel'
      ? await buyer.cancel(order.order_id)
      : await buyer.call('POST', `/v1/orders/${encodeURIComponent(order.order_id)}/simulated-payment`);
  model.acting = false;
  // Also a refusal may tell the order as it is: another tab may have been quicker.
  if (typeof body.order_id === 'string') watch(body as unknown as Order);
  else scene.trouble = say(scene.language, 'trouble', { code: code || status });
  redraw();
}

/** Gets the token in time, and goes on with an order that was under way before the page was loaded again. */
async function resume(): Promise<void> {
  if (!jwt) return;
  if (buyer.isUnderWay) return buy();
  const mine = await buyer.mine();
  if (mine && !model.submitting) {
    model.outcome = { kind: 'placed', orderId: mine.order_id, status: mine.status };
    watch(mine);
  } else if (model.sale === undefined || (model.sale && stateAt(model.sale, buyer.clock.now()) !== 'ended')) {
    await buyer.prepare();
  }
}

onPress('buy', () => void buy());
onPress('pay', () => void act('simulated-payment'));
onPress('cancel', () => void act('cancel'));
onPress('language', () => {
  scene.language = scene.language === 'en' ? 'zh' : 'en';
  localStorage.setItem('shop:language', scene.language);
  redraw();
});
redraw();
setInterval(redraw, TICK);
void follow();
void resume();
