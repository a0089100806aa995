// (e) The floor of any gateway that knows its users: the JWT is verified, the answer is constant, nothing is asked.

import { problem, secrets, user } from './order.js';

export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === '/healthz') return new Response('ok');
    const keys = await secrets(env);
    if (!(await user(request, keys.user))) return problem(401, 'identity_invalid');
    return new Response('{"status":"queued"}', { status: 202, headers: { 'content-type': 'application/json' } });
  },
};
