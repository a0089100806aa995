// The page's words, times and amounts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clock, money, preferred, say } from '../words.ts';

test('Chinese for whoever reads Chinese first, English for all others', () => {
  assert.equal(preferred(['zh-CN', 'en']), 'zh');
  assert.equal(preferred(['en-GB', 'zh']), 'en');
  assert.equal(preferred(['fr', 'zh-TW']), 'zh');
  assert.equal(preferred(['fr']), 'en');
  assert.equal(preferred([]), 'en');
});

test('values are filled in and stay text', () => {
  assert.match(say('en', 'status.waiting', { s: 3 }), /in 3 s/);
  assert.match(say('zh', 'status.waiting', { s: 3 }), /3 秒/);
  assert.match(say('en', 'trouble', { code: '<b>' }), /<b>/);
});

test('time is rounded up, so that zero is only shown when it is over', () => {
  assert.deepEqual([0, 1, 59_001, 60_000, 3_600_000].map(clock), ['0:00', '0:01', '1:00', '1:00', '1:00:00']);
  assert.equal(clock(-5), '0:00');
});

test('amounts are in the smallest unit, of which a currency has what it has', () => {
  assert.match(money('en', 1999, 'CNY'), /19\.99/);
  assert.match(money('en', 1999, 'JPY'), /1,999/);
});
