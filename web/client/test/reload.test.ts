// A page that is loaded again goes on with the order of the page before.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOW, placed, refusal, Stage, token } from './stage.ts';

test('after a reload the same order goes on under the same key', async () => {
  const stage = new Stage(token(), refusal(409, 'sold_out'), placed);
  await stage.page().submit({ quantity: 2 });
  const page = stage.page();
  assert.equal(page.isUnderWay, true);
  // What the new page would order is not asked: another body would be another order.
  assert.equal((await page.submit({ quantity: 1 })).kind, 'placed');
  assert.equal(stage.orders[1]?.body, '{"quantity":2}');
  assert.equal(stage.orders[1]?.headers.get('sluice-order-token'), 'T1');
  assert.equal(stage.orders[1]?.headers.get('sluice-attempt'), '2');
});

test('a token that was never used and has ended is replaced', async () => {
  const stage = new Stage(token(), token({ token: 'T2', expires_at: NOW + 2_000_000 }), placed);
  await stage.page().prepare();
  stage.passed += 700_000;
  await stage.page().submit();
  assert.equal(stage.orders[0]?.headers.get('sluice-order-token'), 'T2');
});

test('a token that was used is kept beyond its end: only by it can the outcome be learnt', async () => {
  const stage = new Stage(token(), refusal(503, 'sale_paused'), placed);
  await stage.page().submit();
  stage.passed += 700_000;
  await stage.page().submit();
  assert.equal(stage.orders[1]?.headers.get('sluice-order-token'), 'T1');
});

test('a store that is full, forbidden or holds nonsense costs only the survival of a reload', async () => {
  const broken = {
    getItem: () => '{nonsense',
    setItem: () => {
      throw new Error('full');
    },
    removeItem: () => {
      throw new Error('forbidden');
    },
  };
  const stage = new Stage(token(), placed);
  assert.equal((await stage.page({ store: broken }).submit()).kind, 'placed');
});
