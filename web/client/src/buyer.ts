// One user's way through one sale: a token in time, one order however often the button is pressed, and its status.

import { wait } from './backoff.ts';
import { platform, ServerClock, type World } from './clock.ts';
import { isFinal, judge, type Verdict } from './outcome.ts';
import { type Ask, ask, type Body, type Reply } from './reply.ts';
import { Keeper, type Pending, type Store } from './store.ts';

/** What a shop tells the library. */
export interface Options {
  /** The sale. */
  sku: string;
  /** Where the gate is, without a slash at the end; the page's own origin when left out. */
  baseUrl?: string;
  /** The value of the `Authorization` header, asked for anew for each request; empty for nobody. */
  authorization: () => string | Promise<string>;
  /** Where the key survives a reload of the page; `sessionStorage` when left out. */
  store?: Store;
  /** How long one request may take, in milliseconds. */
  timeout?: number;
  /** How long `submit` and `prepare` go on by themselves, in milliseconds. */
  patience?: number;
  /** Told whenever something changes that a page would show. */
  onProgress?: (progress: Progress) => void;
  /** Network, clock and chance; for tests. */
  world?: World;
}

/** What is going on, for the page. */
export type Progress =
  | { step: 'preparing' }
  /** The token is there. Buying makes sense from `buyAt` on, by the server's clock. */
  | { step: 'ready'; buyAt: number }
  /** Not yet: the next attempt is in `ms` milliseconds. `code` says why. */
  | { step: 'waiting'; ms: number; code: string }
  | { step: 'sending'; attempt: number };

/** How `submit` ended. After `passing`, `sign_in` and `unknown` the key is kept: submit again with the same order. */
export type Outcome =
  | Exclude<Verdict, { kind: 'again' | 'look_up' }>
  /** The patience is over, and nobody knows yet; the order may exist. */
  | { kind: 'unknown'; code: string };

/** An order as `GET /v1/orders/{id}` shows it. */
export interface Order {
  order_id: string;
  status: string;
  [more: string]: unknown;
}

/** Orders whose status does not change any more. */
const ENDED = new Set(['cancelled', 'failed', 'refunded']);

/** One user's way through one sale. */
export class Buyer {
  /** The server's clock, for a countdown. */
  readonly clock: ServerClock;
  readonly #options: Options;
  readonly #world: World;
  readonly #keeper: Keeper;
  #preparing: Promise<Outcome | Pending> | undefined;
  #submitting: Promise<Outcome> | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#world = options.world ?? platform;
    this.clock = new ServerClock(this.#world);
    const store = options.store ?? (globalThis as { sessionStorage?: Store }).sessionStorage;
    this.#keeper = new Keeper(store, `sluice:${options.baseUrl ?? ''}:${options.sku}`);
  }

  /** Whether an order is under way whose outcome is not known, for instance from before a reload: submit it again. */
  get isUnderWay(): boolean {
    return (this.#keeper.get()?.attempts ?? 0) > 0;
  }

  /** Fetches the token, waiting for the moment when the gate issues it. Resolves to nothing when it is there. */
  async prepare(challenge?: string, signal?: AbortSignal): Promise<Outcome | undefined> {
    const prepared = await this.#token(challenge, signal);
    return 'token' in prepared ? undefined : prepared;
  }

  /**
   * Places the order, once from the user's point of view: every attempt, also after a reload, carries the same key and
   * the same bytes. Pressing the button again meanwhile joins the order that is under way.
   */
  submit(order: Record<string, unknown> = { quantity: 1 }, signal?: AbortSignal): Promise<Outcome> {
    this.#submitting ??= this.#submit(order, signal).finally(() => {
      this.#submitting = undefined;
    });
    return this.#submitting;
  }

  /** The user's newest order in this sale that was not given back, when key and answer were both lost; or undefined. */
  async mine(signal?: AbortSignal): Promise<Order | undefined> {
    const reply = await this.#ask('GET', `${this.#sale()}/orders/mine`, {}, undefined, signal);
    const listed = reply.status === 200 && Array.isArray(reply.body.orders) ? (reply.body.orders as Body[]) : [];
    const orders = listed.map((body) => orderOf(body, 200)).filter((order) => order && !ENDED.has(order.status));
    return orders.reduce((a, b) => (Number(b?.created_at) > Number(a?.created_at ?? 0) ? b : (a ?? b)), undefined);
  }

  /** Any other request of the shop, such as a payment: with the user's sign-in and the same limits of time. */
  async call(method: Ask['method'], path: string, body?: unknown, signal?: AbortSignal): Promise<Reply> {
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    return this.#ask(method, path, headers, body === undefined ? undefined : JSON.stringify(body), signal);
  }

  /** Gives an order back that is not paid yet; the answer is the order as it is then. */
  async cancel(orderId: string, signal?: AbortSignal): Promise<Reply> {
    return this.call('POST', `/v1/orders/${encodeURIComponent(orderId)}/cancel`, undefined, signal);
  }

  /** The sale as the gate shows it. */
  async sale(signal?: AbortSignal): Promise<Reply> {
    return this.#ask('GET', this.#sale(), {}, undefined, signal);
  }

  /** The order's status whenever it changes, until it ends or `signal` aborts. */
  async *watch(orderId: string, signal?: AbortSignal): AsyncGenerator<Order, void, void> {
    let seen = '';
    for (let quiet = 2; ; quiet += 1) {
      const reply = await this.#ask('GET', `/v1/orders/${encodeURIComponent(orderId)}`, {}, undefined, signal);
      const order = orderOf(reply.body, reply.status);
      if (order && order.status !== seen) {
        seen = order.status;
        quiet = 1;
        yield order;
        if (ENDED.has(seen)) return;
      }
      await this.#world.sleep(wait(quiet + 1, reply.retryAfter, this.#world.random()), signal);
    }
  }

  async #submit(order: Record<string, unknown>, signal?: AbortSignal): Promise<Outcome> {
    const end = this.#world.now() + (this.#options.patience ?? 60_000);
    const prepared = await this.#token(undefined, signal);
    if (!('token' in prepared)) return prepared;
    const pending = prepared;
    pending.body ??= JSON.stringify(order);
    if (pending.attempts === 0) await this.#pause(this.clock.until(pending.notBefore), 'not_before', signal);
    for (;;) {
      const repeated = pending.attempts > 0;
      pending.attempts += 1;
      this.#keeper.set(pending);
      this.#tell({ step: 'sending', attempt: pending.attempts });
      const headers: Record<string, string> = {
        'content-type': 'application/json',
        'sluice-order-token': pending.token,
      };
      if (repeated) headers['sluice-attempt'] = String(pending.attempts);
      const reply = await this.#ask('POST', `${this.#sale()}/orders`, headers, pending.body, signal);
      const verdict = judge(reply, repeated);
      if (verdict.kind === 'look_up') return this.#lookUp(verdict.code, signal);
      if (verdict.kind !== 'again') {
        if (isFinal(verdict)) this.#keeper.clear();
        return verdict;
      }
      const pause = wait(pending.attempts + 1, verdict.retryAfter, this.#world.random());
      if (this.#world.now() + pause > end) return this.#lookUp(verdict.code, signal);
      await this.#pause(pause, verdict.code, signal);
    }
  }

  /** Asks for the user's order in this sale where sending again cannot tell what became of it. */
  async #lookUp(code: string, signal?: AbortSignal): Promise<Outcome> {
    const order = await this.mine(signal);
    if (!order) return { kind: 'unknown', code };
    this.#keeper.clear();
    return { kind: 'placed', orderId: order.order_id, status: order.status };
  }

  #token(challenge?: string, signal?: AbortSignal): Promise<Outcome | Pending> {
    this.#preparing ??= this.#fetchToken(challenge, signal).finally(() => {
      this.#preparing = undefined;
    });
    return this.#preparing;
  }

  async #fetchToken(challenge?: string, signal?: AbortSignal): Promise<Outcome | Pending> {
    const kept = this.#keeper.get();
    // What was sent keeps its key, however old: only by it can its outcome be learnt.
    if (kept && (kept.attempts > 0 || kept.expiresAt > this.clock.now())) return kept;
    const end = this.#world.now() + (this.#options.patience ?? 60_000);
    this.#tell({ step: 'preparing' });
    for (let next = 2; ; next += 1) {
      const headers: Record<string, string> = challenge ? { 'sluice-challenge': challenge } : {};
      const reply = await this.#ask('POST', `${this.#sale()}/token`, headers, undefined, signal);
      const { token, expires_at: expiresAt, wait_ms: waitMs } = reply.body;
      if (reply.status === 200 && typeof token === 'string' && typeof expiresAt === 'number') {
        const notBefore = this.clock.now() + (waitMs ?? 0);
        const pending: Pending = { token, expiresAt, notBefore, attempts: 0 };
        this.#keeper.set(pending);
        this.#tell({ step: 'ready', buyAt: notBefore });
        return pending;
      }
      const verdict = judge(reply, false);
      // Before the sale the gate says when tokens are issued: that is worth any wait.
      const opens = reply.code === 'sale_not_started' && reply.retryAfter !== undefined;
      if (verdict.kind !== 'again' && !opens) {
        return verdict.kind === 'look_up' ? { kind: 'refused', code: verdict.code } : verdict;
      }
      const pause = wait(next, reply.retryAfter, this.#world.random());
      if (!opens && this.#world.now() + pause > end) return { kind: 'unknown', code: reply.code };
      await this.#pause(pause, reply.code, signal);
    }
  }

  async #pause(ms: number, code: string, signal?: AbortSignal): Promise<void> {
    if (ms <= 0) return;
    this.#tell({ step: 'waiting', ms, code });
    await this.#world.sleep(ms, signal);
  }

  async #ask(
    method: Ask['method'],
    path: string,
    headers: Record<string, string>,
    body: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Reply> {
    const authorization = await this.#options.authorization();
    return ask(this.#world, this.clock, {
      method,
      url: `${this.#options.baseUrl ?? ''}${path}`,
      headers: authorization ? { ...headers, authorization } : headers,
      timeout: this.#options.timeout ?? 10_000,
      signal,
      ...(body === undefined ? {} : { body }),
    });
  }

  #sale(): string {
    return `/v1/sales/${encodeURIComponent(this.#options.sku)}`;
  }

  #tell(progress: Progress): void {
    this.#options.onProgress?.(progress);
  }
}

function orderOf(body: Body, status: number): Order | undefined {
  const isOrder = status === 200 && typeof body.order_id === 'string' && typeof body.status === 'string';
  return isOrder ? (body as Order) : undefined;
}
