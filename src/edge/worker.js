// The Worker's entry: reads the request in one go, hands it to WebAssembly, and answers whatever happens there.

import wasm from './sluice_bg.wasm';
import { initSync, start, reads, handle, __wbg_reset_state } from './sluice.js';
import { configure, Exchange, gather, instance, written } from './host.js';
import { attach } from './operation.js';

let started = false;

/** Starts the gate, once an isolate, and again after a panic. Throws what is wrong with the environment. */
function begin(env) {
  if (instance.broken) __wbg_reset_state();
  instance.broken = false;
  initSync({ module: wasm });
  configure(env);
  attach(env);
  start((name) => env[name] ?? '');
  started = true;
}

export default {
  async fetch(request, env, context) {
    try {
      if (!started || instance.broken) begin(env);
    } catch (fault) {
      started = false;
      console.error(JSON.stringify({ event: 'misconfigured', fault: String(fault?.message ?? fault) }));
      return problem(500, 'misconfigured', 'The service is not set up correctly.');
    }
    const exchange = new Exchange(request, env, context);
    try {
      const { path, query } = target(request.url);
      const most = request.body ? reads(request.method, path) : 0;
      const body = most < 0 ? undefined : await read(request, most);
      const work = handle(exchange, `${request.method}\n${path}\n${query}${written(request.headers)}`, body, most < 0);
      // A client that leaves must not strand what was begun for it.
      context.waitUntil(work);
      await work;
      return request.method === 'HEAD' ? new Response(null, exchange.response) : exchange.response;
    } catch (fault) {
      // Only a panic gets here. The next request starts a new instance.
      instance.broken ||= fault instanceof WebAssembly.RuntimeError;
      console.error(JSON.stringify({ event: 'internal', fault: String(fault?.name ?? 'unknown') }));
      return problem(500, 'internal', 'Something went wrong on our side.');
    }
  },
};

/** Path and query as they came. */
function target(url) {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const path = start < 0 ? '/' : url.slice(start);
  const mark = path.indexOf('?');
  return mark < 0 ? { path, query: '' } : { path: path.slice(0, mark), query: path.slice(mark + 1) };
}

/** The whole body, or undefined when it is larger than `most` bytes. */
async function read(request, most) {
  if (!request.body) return new Uint8Array(0);
  if (Number(request.headers.get('content-length') ?? 0) > most) return undefined;
  const { bytes, rest } = await gather(request.body, most);
  await rest?.cancel();
  return bytes;
}

function problem(status, code, title) {
  const body = JSON.stringify({ type: `urn:sluice:problem:${code}`, title, status, code });
  return new Response(body, {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'private, no-store' },
  });
}
