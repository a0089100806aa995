// A browser, a running Sluice, and hands on both. `cargo xtask test browser` starts them and names them here.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { after, before } from 'node:test';
import { promisify } from 'node:util';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const run = promisify(execFile);

function named(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: run \`cargo xtask test browser\``);
  return value;
}

export const EDGE = named('SLUICE_EDGE');
/** How long a page may take to show what it should: long for a busy machine, and nobody waits for it in vain. */
export const PATIENCE = 30_000;

let browser: Browser;
let contexts: BrowserContext[] = [];
let addresses = 0;

/** Call once in each file. */
export function openBrowser(): void {
  before(async () => {
    // None of Chromium's own conversations with its maker: they would fail where there is no network.
    const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
    const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', ...quiet];
    browser = await chromium.launch({ executablePath: named('SLUICE_CHROMIUM'), args });
  });
  after(() => browser.close());
}

/** Closes the pages of a test. */
export async function closePages(): Promise<void> {
  await Promise.all(contexts.map((context) => context.close()));
  contexts = [];
}

/** A JWT as the shop's own sign-in would give it. */
export function jwt(user: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const claims = { iss: 'https://shop.example', aud: 'sluice', sub: user, exp };
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${text}.${createHmac('sha256', named('SLUICE_USER_SECRET')).update(text).digest('base64url')}`;
}

/** Runs `sluice-origin` on the running shop. */
export async function origin(...args: string[]): Promise<string> {
  return (await run(named('SLUICE_ORIGIN'), args)).stdout;
}

let skus = 0;

/** Opens a sale of its own for a test, and returns its name. */
export async function sale(options: Record<string, string>): Promise<string> {
  skus += 1;
  const sku = `page-${process.pid}-${skus}`;
  const all = { sku, title: 'Seen in a browser', price: '1999', ...options };
  const words = Object.entries(all).map(([name, value]) => `--${name}=${value}`);
  await origin('sale', 'create', ...words);
  return sku;
}

/** What Redis has left of a sale. */
export async function left(sku: string): Promise<number> {
  return JSON.parse(await origin('sale', 'show', sku, '--json')).redis_stock;
}

/** A context of one user, with an address of their own. */
export async function context(options: { locale?: string; dark?: boolean; phone?: boolean } = {}) {
  addresses += 1;
  const made = await browser.newContext({
    locale: options.locale ?? 'en-GB',
    colorScheme: options.dark ? 'dark' : 'light',
    viewport: options.phone ? { width: 390, height: 844 } : { width: 1280, height: 800 },
    extraHTTPHeaders: { 'cf-connecting-ip': `10.${process.pid % 200}.${addresses >> 8}.${addresses % 256}` },
  });
  made.setDefaultTimeout(PATIENCE);
  contexts.push(made);
  return made;
}

/** The buyer's page of a sale, as a user sees it who has signed in. */
export async function visit(sku: string, user: string, options: Parameters<typeof context>[0] = {}): Promise<Page> {
  const page = await (await context(options)).newPage();
  await page.goto(`${EDGE}/?sku=${sku}#sign-in=${jwt(user)}`);
  return page;
}

/** Waits until an element's text matches. */
export async function shows(page: Page, selector: string, text: RegExp, timeout = PATIENCE): Promise<void> {
  const element = page.locator(selector, { hasText: text });
  await element.waitFor({ state: 'visible', timeout }).catch(async () => {
    assert.fail(`${selector} does not show ${text}, but: ${await page.locator('main').textContent()}`);
  });
}

/** Waits until the button can be pressed. */
export async function isOpen(page: Page): Promise<void> {
  await page.locator('#buy:enabled').waitFor();
}
