// The token at the right moment, and buying not all in the same millisecond.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOW, placed, refusal, Stage, token } from './stage.ts';

test('before tokens are issued the page waits for the moment that the gate names', async () => {
  const stage = new Stage(refusal(403, 'sale_not_started', {}, { 'retry-after': '3600' }), token());
  assert.equal(await stage.page().prepare(), undefined);
  assert.ok((stage.waits[0] ?? 0) >= 3_600_000, 'longer than any patience, for the moment is known');
  assert.ok(stage.isOver);
});

test('the order waits as long as the gate asked it to, counted by the server’s clock', async () => {
  const stage = new Stage(token({ now: NOW + 90_000, wait_ms: 5_000 }), placed);
  const page = stage.page();
  await page.prepare();
  stage.passed += 2_000;
  await page.submit();
  assert.deepEqual(stage.waits, [3_000]);
  assert.deepEqual(
    stage.progress.find((p) => p.step === 'ready'),
    { step: 'ready', buyAt: NOW + 95_000 },
  );
});

test('a challenge that was passed travels with the request for the token', async () => {
  const stage = new Stage(token());
  await stage.page().prepare('proof');
  assert.equal(stage.asked[0]?.headers.get('sluice-challenge'), 'proof');
});

test('a sale that nobody knows is told at once', async () => {
  const stage = new Stage(refusal(404, 'sale_unknown'));
  assert.deepEqual(await stage.page().prepare(), { kind: 'refused', code: 'sale_unknown' });
});

test('a busy gate is asked again, later and later', async () => {
  const stage = new Stage('network', refusal(503, 'degraded'), refusal(500, 'internal'), token());
  assert.equal(await stage.page().prepare(), undefined);
  assert.deepEqual(stage.waits, [125, 250, 500]);
});
