// (f) For information: each user's and each address' bucket is a Durable Object; the claim is Redis' SET NX as in (b).
// In one process an object is a call away; on the platform it may be an ocean away.

import { DurableObject } from 'cloudflare:workers';
import { IP, LEASE_MS, USER, claim, claimKey, earlier, forward, problem, read, seconds } from './order.js';

/** One bucket, in memory: the time at which it is full again. */
export class Bucket extends DurableObject {
  full = 0;

  /** 0 when the request may pass, else the wait in ms. */
  take(interval, burst) {
    const now = Date.now();
    const next = Math.max(this.full, now) + interval;
    if (next - now > interval * burst) return next - now - interval * burst;
    this.full = next;
    return 0;
  }
}

function take(env, name, { burst, perSecond }) {
  return env.BUCKETS.get(env.BUCKETS.idFromName(name)).take(1000 / perSecond, burst);
}

async function redis(env, command) {
  const answer = await fetch(env.UPSTASH_REDIS_REST_URL, {
    method: 'POST',
    headers: { authorization: `Bearer ${env.UPSTASH_REDIS_REST_TOKEN}` },
    body: JSON.stringify(command),
  });
  return (await answer.json()).result;
}

export default {
  async fetch(request, env, context) {
    const order = await read(request, env);
    if (order instanceof Response) return order;
    const [user, ip, record] = await Promise.all([
      take(env, `user:${order.user}`, USER),
      take(env, `ip:${order.ip}`, IP),
      redis(env, ['SET', claimKey(order), claim(order, Date.now()), 'NX', 'GET', 'PX', LEASE_MS + 10_000]),
    ]);
    if (record) return earlier(record, order);
    const wait = Math.max(user, ip);
    if (wait > 0) {
      context.waitUntil(redis(env, ['DEL', claimKey(order)]));
      return problem(429, 'too_many_requests', seconds(wait));
    }
    return forward(order, env);
  },
};
