// The page itself: text that stays text, two languages, no serious fault of accessibility, and what the platform says.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterEach, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closePages, context, EDGE, isOpen, openBrowser, sale, shows, visit } from './stage.ts';

openBrowser();
afterEach(closePages);

const AXE = createRequire(import.meta.url)('axe-core').source as string;

/** Serious and critical faults, in words. */
async function faults(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate('axe.run()');
  const { violations } = found as { violations: { id: string; impact: string; help: string }[] };
  return violations.filter(({ impact }) => /serious|critical/.test(impact)).map(({ id, help }) => `${id}: ${help}`);
}

/** Keeps a picture where `SLUICE_PICTURES` names a folder for them. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env.SLUICE_PICTURES;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png` });
}

test('a title with markup stays text', async () => {
  const title = '<img src=x onerror="document.title=1"> & <b>bold</b>';
  const page = await visit(await sale({ stock: '5', title }), 'markup');
  await shows(page, '#title', /<b>bold<\/b>/);
  assert.equal(await page.locator('#title').textContent(), title);
  assert.equal(await page.locator('img, #title b').count(), 0);
});

test('no serious fault of accessibility in any state, light and dark, desktop and phone', async () => {
  const sku = await sale({ stock: '9' });
  for (const [n, options] of [{}, { dark: true }, { phone: true }].entries()) {
    const page = await visit(sku, `axe-${n}`, options);
    await isOpen(page);
    assert.deepEqual(await faults(page), []);
    await picture(page, `open-${n}`);
    await page.locator('#buy').click();
    await shows(page, '#state', /waiting for payment/);
    assert.deepEqual(await faults(page), []);
    await picture(page, `placed-${n}`);
  }
  const early = await visit(await sale({ stock: '9', 'starts-at': '+1h' }), 'axe');
  await shows(early, '#status', /not started/);
  assert.deepEqual(await faults(early), []);
  await picture(early, 'scheduled');
});

test('it is used by keyboard alone', async () => {
  const page = await visit(await sale({ stock: '5' }), 'keys');
  await isOpen(page);
  await page.locator('#language').focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await shows(page, '#status', /the order is yours/);
});

test('Chinese for whoever reads Chinese, and the choice stays', async () => {
  const sku = await sale({ stock: '5' });
  const page = await visit(sku, 'chinese', { locale: 'zh-CN' });
  await shows(page, '#buy', /立即抢购/);
  assert.equal(await page.locator('html').getAttribute('lang'), 'zh');
  await page.locator('#buy:enabled').click();
  await shows(page, '#status', /下单成功/);
  await picture(page, 'chinese');
  await page.locator('#language').click();
  await shows(page, '#status', /the order is yours/);
  await page.reload();
  await shows(page, '#language', /中文/);
});

test('without a sign-in the page says how to get one', async () => {
  const page = await (await context()).newPage();
  await page.goto(`${EDGE}/?sku=${await sale({ stock: '5' })}`);
  await shows(page, '#status', /Please sign in/);
  assert.ok(await page.locator('#buy').isDisabled());
});

test('the sign-in leaves the address, and no script but the page’s own may run', async () => {
  const page = await visit(await sale({ stock: '5' }), 'private');
  await isOpen(page);
  assert.ok(!page.url().includes('sign-in'));
  const ran = page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'document.title = "ran"';
    document.head.append(script);
    return document.title;
  });
  assert.notEqual(await ran, 'ran');
});

test('the page is never cached, and its parts for ever', async () => {
  const page = await fetch(EDGE);
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  const script = /src="([^"]+)"/.exec(await page.text())?.[1];
  const part = await fetch(EDGE + script);
  assert.equal(part.headers.get('cache-control'), 'public, max-age=31536000, immutable');
});
