// One request to the gate, as a value: never an exception for an answer, a refusal or a broken connection.

import type { ServerClock, World } from './clock.ts';

/** The JSON of an answer or a refusal; what is missing is undefined. */
export interface Body {
  code?: string;
  title?: string;
  token?: string;
  expires_at?: number;
  wait_ms?: number;
  order_id?: string;
  status?: string | number;
  outcome_known?: boolean;
  retry_after_ms?: number;
  now?: number;
  [more: string]: unknown;
}

/** What came of a request. */
export interface Reply {
  /** HTTP status; 0 when no answer came. */
  status: number;
  /** The refusal's code; `network` or `timeout` when no answer came; empty for an answer that is no refusal. */
  code: string;
  body: Body;
  /** Not before so many milliseconds may it be sent again; undefined when the answer does not say. */
  retryAfter: number | undefined;
}

/** One HTTP request. */
export interface Ask {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** How long an answer may take, in milliseconds. */
  timeout: number;
  signal?: AbortSignal | undefined;
}

/** Sends a request and waits for its whole answer. Rejects only when the caller's signal aborts. */
export async function ask(world: World, clock: ServerClock, request: Ask): Promise<Reply> {
  const asked = world.now();
  const deadline = AbortSignal.timeout(request.timeout);
  const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline;
  try {
    const response = await world.fetch(request.url, {
      method: request.method,
      headers: request.headers,
      body: request.body ?? null,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
      signal,
    });
    const body = parse(await response.text());
    if (typeof body.now === 'number') clock.learn(body.now, asked, world.now());
    return {
      status: response.status,
      code: response.ok ? '' : (body.code ?? 'unexpected'),
      body,
      retryAfter: retryAfter(body, response.headers),
    };
  } catch {
    request.signal?.throwIfAborted();
    return { status: 0, code: deadline.aborted ? 'timeout' : 'network', body: {}, retryAfter: undefined };
  }
}

function parse(text: string): Body {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' ? (value as Body) : {};
  } catch {
    return {};
  }
}

/** The longest of what the refusal, `Retry-After` and an exhausted `RateLimit` ask for, in milliseconds. */
function retryAfter(body: Body, headers: Headers): number | undefined {
  const seconds = Number.parseInt(headers.get('retry-after') ?? '', 10);
  const waits = [body.retry_after_ms, seconds * 1000].filter((ms) => ms !== undefined && ms >= 0);
  if (waits.length > 0) return Math.max(...(waits as number[]));
  return exhausted(headers.get('ratelimit') ?? '');
}

/** `"user";r=0;t=3, "ip";r=7;t=1`: the longest time of the items that have nothing left. */
export function exhausted(rateLimit: string): number | undefined {
  const waits = rateLimit.split(',').flatMap((item) => {
    const left = /;\s*r=(\d+)/.exec(item);
    const time = /;\s*t=(\d+)/.exec(item);
    return left?.[1] === '0' && time?.[1] ? [Number(time[1]) * 1000] : [];
  });
  return waits.length > 0 ? Math.max(...waits) : undefined;
}
