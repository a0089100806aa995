// (b) What a team builds from published parts: @upstash/ratelimit for user and address at once, its ephemeral cache on,
// SET NX for the claim, jose for JWTs.

import { Ratelimit } from '@upstash/ratelimit';
import { Redis } from '@upstash/redis/cloudflare';
import { IP, LEASE_MS, USER, claim, claimKey, earlier, forward, problem, read, seconds } from './order.js';

// Subjects that were refused, and until when: refused again without a call. One map a limit, for as long as the isolate.
const refused = { user: new Map(), ip: new Map() };

/** The limits over a client of this request: a promise of one request is not for another to wait for. */
function limits(redis) {
  const limit = (name, { burst, perSecond }) =>
    new Ratelimit({
      redis,
      limiter: Ratelimit.tokenBucket(perSecond, '1 s', burst),
      prefix: `rl:${name}`,
      ephemeralCache: refused[name],
      analytics: false,
      timeout: 0,
    });
  return { user: limit('user', USER), ip: limit('ip', IP) };
}

/** When a subject that was refused may come back, in ms from now; 0 when it may come. */
function known(name, subject) {
  const until = refused[name].get(subject) ?? refused[name].get(`rl:${name}:${subject}`) ?? 0;
  return Math.max(0, until - Date.now());
}

export default {
  async fetch(request, env, context) {
    const order = await read(request, env);
    if (order instanceof Response) return order;
    const wait = Math.max(known('user', order.user), known('ip', order.ip));
    if (wait > 0) return problem(429, 'too_many_requests', seconds(wait));

    const redis = new Redis({
      url: env.UPSTASH_REDIS_REST_URL,
      token: env.UPSTASH_REDIS_REST_TOKEN,
      enableTelemetry: false,
      automaticDeserialization: false,
    });
    // First the claim: a replay is not charged. NX and GET together bring the record that is there already.
    const key = claimKey(order);
    const record = await redis.set(key, claim(order, Date.now()), { nx: true, get: true, px: LEASE_MS + 10_000 });
    if (record) return earlier(record, order);

    const { user, ip } = limits(redis);
    const verdicts = await Promise.all([user.limit(order.user), ip.limit(order.ip)]);
    const denied = verdicts.find((verdict) => !verdict.success);
    if (denied) {
      context.waitUntil(redis.del(key));
      return problem(429, 'too_many_requests', seconds(denied.reset - Date.now()));
    }
    return forward(order, env);
  },
};
