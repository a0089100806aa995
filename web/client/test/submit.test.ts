// One order, whatever happens between the page and the gate.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placed, refusal, Stage, token } from './stage.ts';

const PLACED = { kind: 'placed', orderId: '0-1', status: 'queued' };

test('an order is a token and one request', async () => {
  const stage = new Stage(token(), placed);
  assert.deepEqual(await stage.page().submit({ quantity: 2 }), PLACED);
  const [, order] = stage.asked;
  assert.equal(order?.path, '/v1/sales/demo/orders');
  assert.equal(order?.body, '{"quantity":2}');
  assert.equal(order?.headers.get('sluice-order-token'), 'T1');
  assert.equal(order?.headers.get('authorization'), 'Bearer jwt');
  assert.equal(order?.headers.get('sluice-attempt'), null);
  assert.equal(stage.stored.size, 0, 'a final outcome ends the key');
});

test('many clicks are one order', async () => {
  const stage = new Stage(token(), placed);
  const page = stage.page();
  const outcomes = await Promise.all([page.submit(), page.submit(), page.submit()]);
  assert.deepEqual(outcomes, [PLACED, PLACED, PLACED]);
  assert.equal(stage.orders.length, 1);
});

test('every repetition carries the same key and bytes, and says which attempt it is', async () => {
  const stage = new Stage(
    token(),
    'network',
    refusal(503, 'degraded'),
    refusal(429, 'too_many_requests'),
    refusal(504, 'origin_timeout'),
    placed,
  );
  assert.deepEqual(await stage.page().submit(), PLACED);
  assert.equal(new Set(stage.orders.map((order) => order.headers.get('sluice-order-token'))).size, 1);
  assert.equal(new Set(stage.orders.map((order) => order.body)).size, 1);
  const attempts = stage.orders.map((order) => order.headers.get('sluice-attempt'));
  assert.deepEqual(attempts, [null, '2', '3', '4', '5']);
});

test('no attempt comes before the moment that the gate named', async () => {
  for (const chance of [0, 0.99]) {
    const stage = new Stage(
      token(),
      refusal(429, 'too_many_requests', { retry_after_ms: 1_700 }, { 'retry-after': '2' }),
      placed,
    );
    stage.chance = chance;
    await stage.page().submit();
    assert.equal(stage.waits.length, 1);
    assert.ok((stage.waits[0] ?? 0) >= 2_000, String(stage.waits));
  }
});

test('an exhausted RateLimit is a moment too', async () => {
  const stage = new Stage(token(), refusal(503, 'degraded', {}, { ratelimit: '"user";r=0;t=3, "ip";r=7;t=9' }), placed);
  await stage.page().submit();
  assert.equal(stage.waits[0], 3_000);
});

test('an order that is under way is asked for again until it is answered', async () => {
  const busy = refusal(409, 'in_progress', {}, { 'retry-after': '1' });
  const stage = new Stage(token(), busy, busy, placed);
  assert.deepEqual(await stage.page().submit(), PLACED);
  assert.ok(stage.waits.every((ms) => ms >= 1_000));
});

test('a refusal that does not know the outcome is asked once more, as a repetition', async () => {
  const stage = new Stage(token(), refusal(409, 'sold_out', { outcome_known: false }), placed);
  assert.deepEqual(await stage.page().submit(), PLACED);
  assert.equal(stage.orders[1]?.headers.get('sluice-attempt'), '2');
});

test('sold out, paused and not ready are passing: the key is kept for another try', async () => {
  for (const code of ['sold_out', 'sale_paused', 'sale_unavailable']) {
    const stage = new Stage(token(), refusal(code === 'sold_out' ? 409 : 503, code), placed);
    const page = stage.page();
    assert.equal((await page.submit()).kind, 'passing', code);
    assert.equal(page.isUnderWay, true);
    assert.deepEqual(await page.submit(), PLACED, code);
    assert.equal(stage.orders[1]?.headers.get('sluice-order-token'), 'T1');
    assert.equal(stage.orders[1]?.headers.get('sluice-attempt'), '2');
  }
});

test('what repeating cannot change is final', async () => {
  for (const [status, code] of [
    [400, 'invalid_quantity'],
    [403, 'sale_ended'],
    [403, 'token_not_yours'],
    [403, 'denied'],
    [404, 'sale_unknown'],
    [422, 'idempotency_mismatch'],
  ] as const) {
    const stage = new Stage(token(), refusal(status, code));
    assert.deepEqual(await stage.page().submit(), { kind: 'refused', code });
    assert.equal(stage.stored.size, 0);
  }
});

test('one user who has bought already is told which order it was', async () => {
  const stage = new Stage(token(), refusal(409, 'already_bought', { order_id: '0-7' }));
  assert.deepEqual(await stage.page().submit(), { kind: 'already_bought', orderId: '0-7' });
});

test('a sign-in that has ended loses no key', async () => {
  const stage = new Stage(token(), refusal(401, 'identity_expired'), placed);
  const page = stage.page();
  assert.equal((await page.submit()).kind, 'sign_in');
  assert.deepEqual(await page.submit(), PLACED);
  assert.equal(stage.orders[1]?.headers.get('sluice-order-token'), 'T1');
});

test('where sending again cannot tell, the user’s own orders do', async () => {
  const orders = [
    { order_id: '0-7', status: 'cancelled', created_at: 9 },
    { order_id: '0-9', status: 'pending_payment', created_at: 8 },
    { order_id: '0-8', status: 'paid', created_at: 7 },
  ];
  const mine = { status: 200, body: { orders } };
  const stage = new Stage(token(), 'network', refusal(403, 'token_expired'), mine);
  const outcome = await stage.page().submit();
  assert.deepEqual(outcome, { kind: 'placed', orderId: '0-9', status: 'pending_payment' });
  assert.equal(stage.asked.at(-1)?.path, '/v1/sales/demo/orders/mine');
});

test('when patience ends nobody is told a lie: unknown, and the key is kept', async () => {
  const away = Array.from({ length: 40 }, () => refusal(503, 'degraded', {}, { 'retry-after': '5' }));
  const stage = new Stage(token(), ...away);
  const page = stage.page({ patience: 20_000 });
  const done = page.submit();
  // The last request is the look-up, which the same server refuses too.
  assert.deepEqual(await done, { kind: 'unknown', code: 'degraded' });
  assert.equal(page.isUnderWay, true);
  assert.ok(stage.passed <= 20_000);
});
