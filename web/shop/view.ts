// The page's elements. Text is only ever set as text, so that no title can become markup.

import { type Model, show } from './model.ts';
import { clock, isWord, type Language, money, say, type Word } from './words.ts';

/** What the page shows besides its model. */
export interface Scene {
  language: Language;
  title: string;
  currency: string;
  trouble: string;
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** Changes nothing that is so already: a screen reader reads what changes. */
function text(id: string, value: string): void {
  const found = element(id);
  if (found.textContent !== value) found.textContent = value;
}

function enable(id: string, enabled: boolean): void {
  (element(id) as HTMLButtonElement).disabled = !enabled;
}

/** Draws the page. */
export function draw(model: Model, scene: Scene, now: number): void {
  const { language } = scene;
  const word = (name: Word, values?: Record<string, string | number>) => say(language, name, values);
  const { button, status, countdown, pay, cancel, left } = show(model, now);
  document.documentElement.lang = language;
  document.title = scene.title || 'Sluice';
  text('language', word('language'));
  text('title', scene.title);
  text('price', model.sale ? money(language, model.sale.price, scene.currency) : '');
  text('band', model.sale?.stock ? word(`band.${model.sale.stock}`) : '');
  text('countdown', countdown ? word(countdown.word, { time: clock(countdown.ms) }) : '');
  text('buy', word(button.word));
  enable('buy', button.enabled);
  text('status', word(status.word, status.values));

  const { order } = model;
  element('order').hidden = !order;
  if (!order) return;
  const state = `order.${order.status}`;
  text('order-title', word('order'));
  text('number-name', word('number'));
  text('number', order.order_id);
  text('amount-name', word('amount'));
  text('amount', typeof order.amount === 'number' ? money(language, order.amount, scene.currency) : '');
  text('state-name', word('state'));
  text('state', isWord(state) ? word(state) : order.status);
  text('left-name', left === undefined ? '' : word('left'));
  text('left', left === undefined ? '' : clock(left));
  text('pay', word('pay'));
  text('cancel', word('cancel'));
  for (const [id, may] of [['pay', pay] as const, ['cancel', cancel] as const]) {
    element(id).hidden = order.status !== 'pending_payment';
    enable(id, may);
  }
  text('trouble', scene.trouble);
}

/** Calls `act` when the button is pressed, by whatever means. */
export function onPress(id: string, act: () => void): void {
  element(id).addEventListener('click', act);
}
