// What the page knows, and what it shows of it. Pure: the same model is always shown the same.

import type { Order, Outcome, Progress } from '../client/src/index.ts';
import type { Word } from './words.ts';

/** The sale as the gate shows it. */
export interface Sale {
  state: 'scheduled' | 'open' | 'paused' | 'sold_out' | 'ended';
  price: number;
  stock: 'many' | 'few' | 'none' | null;
  starts_at: number;
  ends_at: number;
}

/** Everything that the page knows. */
export interface Model {
  signedIn: boolean;
  /** `undefined` until it was told; `null` when there is none. */
  sale: Sale | null | undefined;
  /** The gate did not answer the last time. */
  away: boolean;
  /** The button was pressed, and the outcome is not known yet. */
  submitting: boolean;
  progress: Progress | undefined;
  /** When the wait that `progress` tells of is over, by the server's clock. */
  waitUntil: number;
  outcome: Outcome | undefined;
  order: Order | undefined;
  /** A payment or cancellation is under way. */
  acting: boolean;
}

/** Nothing is known yet. */
export const START: Model = {
  signedIn: false,
  sale: undefined,
  away: false,
  submitting: false,
  progress: undefined,
  waitUntil: 0,
  outcome: undefined,
  order: undefined,
  acting: false,
};

/** What is on the page. */
export interface Shown {
  button: { word: Word; enabled: boolean };
  status: { word: Word; values: Record<string, string | number> };
  countdown: { word: Word; ms: number } | undefined;
  /** What may be done with the order. */
  pay: boolean;
  cancel: boolean;
  /** Milliseconds that are left to pay. */
  left: number | undefined;
}

/** Orders after which the user may buy again. */
const GIVEN_BACK = new Set(['cancelled', 'failed', 'refunded']);

/** Shows a model at `now` of the server's clock. */
export function show(model: Model, now: number): Shown {
  const { order } = model;
  const due = order?.status === 'pending_payment';
  const payBy = typeof order?.pay_by === 'number' ? order.pay_by : undefined;
  return {
    button: button(model, now),
    status: status(model, now),
    countdown: countdown(model.sale, now),
    pay: due && !model.acting,
    cancel: due && !model.acting,
    left: due && payBy !== undefined ? Math.max(0, payBy - now) : undefined,
  };
}

/** What the sale is at `now`: its start and end are known before the next answer tells of them. */
export function stateAt(sale: Sale, now: number): Sale['state'] {
  if (now >= sale.ends_at) return 'ended';
  if (sale.state === 'scheduled' && now >= sale.starts_at) return sale.stock === 'none' ? 'sold_out' : 'open';
  return sale.state;
}

function holdsOrder({ order }: Model): boolean {
  return order !== undefined && !GIVEN_BACK.has(order.status);
}

function button(model: Model, now: number): Shown['button'] {
  if (model.submitting) return { word: 'sending', enabled: false };
  if (holdsOrder(model)) return { word: 'bought', enabled: false };
  if (!model.sale) return { word: model.sale === null ? 'buy' : 'loading', enabled: false };
  // An order without an outcome may be asked for again whatever the sale has become.
  const open = stateAt(model.sale, now) === 'open' || model.outcome?.kind === 'unknown';
  return { word: model.order ? 'again' : 'buy', enabled: open && model.signedIn };
}

function status(model: Model, now: number): Shown['status'] {
  const said = (word: Word, values = {}) => ({ word, values });
  if (model.submitting) {
    const wait = model.waitUntil - now;
    return model.progress?.step === 'waiting' && wait > 0
      ? said('status.waiting', { s: Math.ceil(wait / 1000) })
      : said('status.sending');
  }
  switch (model.outcome?.kind) {
    case 'placed':
      return holdsOrder(model) ? said('status.placed') : sale(model, now);
    case 'already_bought':
      return holdsOrder(model) || !model.order ? said('status.already_bought') : sale(model, now);
    case 'refused':
      return said('status.refused', { code: model.outcome.code });
    case 'unknown':
      return said('status.outcome_unknown');
    case 'sign_in':
      return said('status.sign_in');
    default:
      return sale(model, now);
  }
}

function sale(model: Model, now: number): Shown['status'] {
  const values = {};
  if (!model.signedIn) return { word: 'status.sign_in', values };
  if (model.away) return { word: 'status.away', values };
  if (model.sale === null) return { word: 'status.unknown', values };
  return { word: model.sale ? `status.${stateAt(model.sale, now)}` : 'status.loading', values };
}

function countdown(sale: Model['sale'], now: number): Shown['countdown'] {
  if (!sale) return undefined;
  if (now < sale.starts_at) return { word: 'starts', ms: sale.starts_at - now };
  return now < sale.ends_at ? { word: 'ends', ms: sale.ends_at - now } : undefined;
}
