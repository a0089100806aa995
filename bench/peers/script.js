// (c) What a careful team writes by hand: claim and both buckets in one script, one EVALSHA a request.

import { IP, LEASE_MS, USER, claim, claimKey, earlier, forward, problem, read, seconds } from './order.js';
import source from './script.lua';

let sha;

async function sha1(text) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function run(env, rest) {
  sha ??= await sha1(source);
  let answer = await post(env, ['EVALSHA', sha, ...rest]);
  if (answer.error?.startsWith('NOSCRIPT')) answer = await post(env, ['EVAL', source, ...rest]);
  if (answer.error) throw new Error(answer.error);
  return answer.result;
}

async function post(env, command) {
  const answer = await fetch(env.UPSTASH_REDIS_REST_URL, {
    method: 'POST',
    headers: { authorization: `Bearer ${env.UPSTASH_REDIS_REST_TOKEN}` },
    body: JSON.stringify(command),
  });
  return answer.json();
}

function microseconds({ perSecond }) {
  return 1_000_000 / perSecond;
}

export default {
  async fetch(request, env) {
    const order = await read(request, env);
    if (order instanceof Response) return order;
    const keys = [claimKey(order), `{p0}:b:user:${order.user}`, `{p0}:b:ip:${order.ip}`];
    const record = claim(order, Date.now());
    const buckets = [microseconds(USER), USER.burst, microseconds(IP), IP.burst];
    const [verdict, detail] = await run(env, [keys.length, ...keys, record, LEASE_MS + 10_000, ...buckets]);
    if (verdict === 1) return earlier(detail, order);
    if (verdict === 2) return problem(429, 'too_many_requests', seconds(detail));
    return forward(order, env);
  },
};
