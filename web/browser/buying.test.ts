// One click, one order: whatever the finger, the network and the reload key do.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { closePages, EDGE, isOpen, jwt, left, openBrowser, PATIENCE, sale, shows, visit } from './stage.ts';

openBrowser();
afterEach(closePages);

const DONE = /the order is yours/;

/** Orders of a user in another sale, with their tokens in hand, ready to be sent. */
async function elsewhere(sku: string, user: string, count: number): Promise<(() => Promise<unknown>)[]> {
  const headers = { authorization: `Bearer ${jwt(user)}`, 'cf-connecting-ip': '10.250.0.1' };
  const ready: (() => Promise<unknown>)[] = [];
  const deadline = performance.now() + PATIENCE;
  while (ready.length < count && performance.now() < deadline) {
    const answer = await fetch(`${EDGE}/v1/sales/${sku}/token`, { method: 'POST', headers });
    const { token } = (await answer.json()) as { token?: string };
    const order = { 'content-type': 'application/json', 'sluice-order-token': token ?? '', ...headers };
    const body = '{"quantity":1}';
    if (token) ready.push(() => fetch(`${EDGE}/v1/sales/${sku}/orders`, { method: 'POST', headers: order, body }));
  }
  return ready;
}

test('a double click is one order', async () => {
  const sku = await sale({ stock: '5', 'per-user': '5' });
  const page = await visit(sku, 'double');
  await isOpen(page);
  await page.locator('#buy').dblclick();
  await shows(page, '#status', DONE);
  await shows(page, '#state', /waiting for payment/);
  assert.equal(await left(sku), 4);
  assert.ok(await page.locator('#buy').isDisabled());
});

test('an answer that is lost on its way costs no second order', async () => {
  const sku = await sale({ stock: '5', 'per-user': '5' });
  const page = await visit(sku, 'lost');
  await isOpen(page);
  let sent = 0;
  await page.route('**/orders', async (route) => {
    sent += 1;
    if (sent > 1) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await page.locator('#buy').click();
  await shows(page, '#status', DONE);
  assert.ok(sent >= 2);
  assert.equal(await left(sku), 4);
});

test('a network that is cut during the order, and comes back, is one order', async () => {
  const sku = await sale({ stock: '5', 'per-user': '5' });
  const page = await visit(sku, 'cut');
  await isOpen(page);
  await page.context().setOffline(true);
  await page.locator('#buy').click();
  await shows(page, '#status', /Trying again|on its way/);
  await page.context().setOffline(false);
  await shows(page, '#status', DONE);
  assert.equal(await left(sku), 4);
});

test('a page that is loaded again during the order goes on with it', async () => {
  const sku = await sale({ stock: '5', 'per-user': '5' });
  const page = await visit(sku, 'reload');
  await isOpen(page);
  const reached = new Promise<void>((resolve) => {
    void page.route('**/orders', async (route) => {
      await route.fetch();
      // The answer never comes to this page.
      resolve();
    });
  });
  await page.locator('#buy').click();
  await reached;
  await page.unroute('**/orders');
  await page.reload();
  await shows(page, '#status', DONE);
  assert.equal(await left(sku), 4);
});

test('a refused attempt shows when it is tried again, and then succeeds', async () => {
  const [sku, other] = [await sale({ stock: '99' }), await sale({ stock: '99', 'per-user': '99' })];
  let busy = false;
  // On a slow machine the limit may have filled up again before the page comes: then another user tries.
  for (let round = 0; round < 5 && !busy; round += 1) {
    const user = `busy-${round}`;
    const page = await visit(sku, user);
    await isOpen(page);
    const orders = await elsewhere(other, user, 6);
    let sent = 0;
    await page.route('**/orders', async (route) => {
      sent += 1;
      // The same user elsewhere: five orders at once are what the limit allows.
      if (sent === 1) await Promise.all(orders.map((order) => order()));
      await route.continue();
    });
    await page.locator('#buy').click();
    await shows(page, '#status', /very busy|the order is yours/);
    busy = /very busy\. Trying again in \d+ s/.test((await page.locator('#status').textContent()) ?? '');
    await shows(page, '#status', DONE);
    assert.equal(sent >= 2, busy);
  }
  assert.ok(busy, 'no attempt was refused');
});

test('ten pages at once for five units are five winners', async () => {
  const sku = await sale({ stock: '5' });
  const pages = await Promise.all(Array.from({ length: 10 }, (_, n) => visit(sku, `of-ten-${n}`)));
  await Promise.all(pages.map(isOpen));
  await Promise.all(pages.map((page) => page.locator('#buy').click()));
  await Promise.all(pages.map((page) => shows(page, '#status', /the order is yours|Sold out/)));
  const texts = await Promise.all(pages.map((page) => page.locator('#status').textContent()));
  assert.equal(texts.filter((text) => DONE.test(text ?? '')).length, 5, texts.join('\n'));
  assert.equal(await left(sku), 0);
});
