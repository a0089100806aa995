// (d) No protection at all: every request goes to the origin as it came.

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    if (url.pathname === '/healthz') return new Response('ok');
    return fetch(new Request(env.ORIGIN_URL + url.pathname + url.search, request));
  },
};
