// The sale's life as a buyer sees it, without loading the page again.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { closePages, isOpen, left, openBrowser, origin, sale, shows, visit } from './stage.ts';

openBrowser();
afterEach(closePages);

test('before the start the button is dead, at the start it lives', async () => {
  const sku = await sale({ stock: '5', 'starts-at': '+6s' });
  const page = await visit(sku, 'early');
  await shows(page, '#status', /not started/);
  await shows(page, '#countdown', /Starts in 0:0\d/);
  assert.ok(await page.locator('#buy').isDisabled());
  await isOpen(page);
  await page.locator('#buy').click();
  await shows(page, '#status', /the order is yours/);
});

test('what is sold out says so, and lives again when a unit is given back', async () => {
  const sku = await sale({ stock: '1' });
  const [winner, other] = await Promise.all([visit(sku, 'first'), visit(sku, 'second')]);
  await Promise.all([isOpen(winner), isOpen(other)]);
  await winner.locator('#buy').click();
  await shows(winner, '#state', /waiting for payment/);
  await shows(other, '#status', /Sold out/);
  assert.ok(await other.locator('#buy').isDisabled());
  await winner.locator('#cancel').click();
  await shows(winner, '#state', /cancelled/);
  await isOpen(other);
  await other.locator('#buy').click();
  await shows(other, '#status', /the order is yours/);
  assert.equal(await left(sku), 0);
});

test('a pause is seen within three seconds, and its end too', async () => {
  const sku = await sale({ stock: '5' });
  const page = await visit(sku, 'pause');
  await isOpen(page);
  const took: number[] = [];
  for (let round = 0; round < 5 && !took.some((ms) => ms <= 3_000); round += 1) {
    await origin('sale', 'pause', sku);
    const begin = performance.now();
    await shows(page, '#status', /short break/);
    took.push(performance.now() - begin);
    await origin('sale', 'resume', sku);
    await isOpen(page);
  }
  // The quickest of some tells what the page does, whatever else the machine does.
  assert.ok(Math.min(...took) <= 3_000, `${took}`);
});

test('a sale that ends says so, and one that does not exist too', async () => {
  const [ending, nothing] = [await sale({ stock: '5', 'ends-at': '+4s' }), 'no-such-sale'];
  await shows(await visit(ending, 'late'), '#status', /is over/);
  await shows(await visit(nothing, 'late'), '#status', /no such sale/);
});

test('an order is paid, and stays paid when the page is loaded again', async () => {
  const sku = await sale({ stock: '5' });
  const page = await visit(sku, 'payer');
  await isOpen(page);
  await page.locator('#buy').click();
  await shows(page, '#state', /waiting for payment/);
  await shows(page, '#left', /^(29|30):\d\d$/);
  await page.locator('#pay').click();
  await shows(page, '#state', /^paid$/);
  await page.reload();
  await shows(page, '#state', /^paid$/);
  assert.ok(await page.locator('#pay').isHidden());
  assert.equal(await left(sku), 4);
});

test('an order that is not paid in time is given back, and one may buy again', async () => {
  const sku = await sale({ stock: '1', 'pay-within': '2s' });
  const page = await visit(sku, 'slow');
  await isOpen(page);
  await page.locator('#buy').click();
  await shows(page, '#state', /cancelled/);
  await isOpen(page);
  await shows(page, '#buy', /Buy again/);
  assert.equal(await left(sku), 1);
});
