// What the page shows of what it knows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Model, type Sale, START, show } from '../model.ts';

const NOW = 1_000_000;
const OPEN: Sale = { state: 'open', price: 1999, stock: 'few', starts_at: NOW - 1, ends_at: NOW + 60_000 };

const model = (more: Partial<Model>): Model => ({ ...START, signedIn: true, sale: OPEN, ...more });
const button = (more: Partial<Model>, now = NOW) => show(model(more), now).button;
const status = (more: Partial<Model>, now = NOW) => show(model(more), now).status.word;

test('before the start the button is dead, and lives at the start by the server’s clock without another answer', () => {
  const sale: Sale = { ...OPEN, state: 'scheduled', starts_at: NOW + 500 };
  assert.deepEqual(button({ sale }), { word: 'buy', enabled: false });
  assert.equal(status({ sale }), 'status.scheduled');
  assert.deepEqual(show(model({ sale }), NOW).countdown, { word: 'starts', ms: 500 });
  assert.deepEqual(button({ sale }, NOW + 500), { word: 'buy', enabled: true });
  assert.equal(status({ sale }, NOW + 500), 'status.open');
});

test('the button is dead from the first press until the outcome is known', () => {
  assert.deepEqual(button({ submitting: true }), { word: 'sending', enabled: false });
  const progress = { step: 'waiting', ms: 2_000, code: 'too_many_requests' } as const;
  const waiting = show(model({ submitting: true, progress, waitUntil: NOW + 1_200 }), NOW).status;
  assert.deepEqual(waiting, { word: 'status.waiting', values: { s: 2 } });
  assert.equal(status({ submitting: true, progress, waitUntil: NOW }), 'status.sending');
});

test('a sale that is paused, sold out or over says so, and cannot be bought from', () => {
  for (const state of ['paused', 'sold_out', 'ended'] as const) {
    assert.equal(button({ sale: { ...OPEN, state } }).enabled, false);
    assert.equal(status({ sale: { ...OPEN, state } }), `status.${state}`);
  }
  assert.equal(status({}, OPEN.ends_at), 'status.ended');
  assert.equal(status({ sale: null }), 'status.unknown');
  assert.equal(status({ away: true }), 'status.away');
});

test('nobody buys without a sign-in', () => {
  assert.equal(button({ signedIn: false }).enabled, false);
  assert.equal(status({ signedIn: false }), 'status.sign_in');
});

test('an order whose outcome is unknown may be asked for again, whatever the sale has become', () => {
  const outcome = { kind: 'unknown', code: 'degraded' } as const;
  const sold: Sale = { ...OPEN, state: 'sold_out' };
  assert.equal(button({ outcome, sale: sold }).enabled, true);
  assert.equal(status({ outcome, sale: sold }), 'status.outcome_unknown');
});

test('an order is paid or given back while it waits for payment, and its time to pay is shown', () => {
  const order = { order_id: '0-1', status: 'pending_payment', pay_by: NOW + 9_000 };
  const shown = show(model({ order }), NOW);
  assert.deepEqual([shown.pay, shown.cancel, shown.left], [true, true, 9_000]);
  assert.deepEqual(shown.button, { word: 'bought', enabled: false });
  const acting = show(model({ order, acting: true }), NOW);
  assert.deepEqual([acting.pay, acting.cancel], [false, false]);
  assert.equal(show(model({ order }), NOW + 10_000).left, 0, 'never below zero');
  const paid = show(model({ order: { ...order, status: 'paid' } }), NOW);
  assert.deepEqual([paid.pay, paid.cancel, paid.left, paid.button.enabled], [false, false, undefined, false]);
});

test('after a cancellation one may buy again', () => {
  const outcome = { kind: 'placed', orderId: '0-1', status: 'queued' } as const;
  const order = { order_id: '0-1', status: 'cancelled' };
  assert.deepEqual(button({ outcome, order }), { word: 'again', enabled: true });
  assert.equal(status({ outcome, order }), 'status.open');
});
