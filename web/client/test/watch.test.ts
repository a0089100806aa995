// The status of an order, as it changes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusal, Stage } from './stage.ts';

const order = (status: string) => ({ status: 200, body: { order_id: '0-1', status } });

test('each change is told once, and the last one ends it', async () => {
  const stage = new Stage(
    order('queued'),
    order('queued'),
    refusal(503, 'degraded', {}, { 'retry-after': '2' }),
    order('pending_payment'),
    order('cancelled'),
  );
  const seen: string[] = [];
  for await (const { status } of stage.page().watch('0-1')) seen.push(status);
  assert.deepEqual(seen, ['queued', 'pending_payment', 'cancelled']);
  assert.ok(stage.waits.some((ms) => ms >= 2_000));
});

test('a page that leaves stops it', async () => {
  const stage = new Stage(order('queued'));
  const leave = new AbortController();
  const watching = stage.page().watch('0-1', leave.signal);
  assert.equal((await watching.next()).value?.status, 'queued');
  leave.abort();
  await assert.rejects(watching.next());
});
