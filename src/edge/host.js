// The platform's side of the ports: each function is one crossing between WebAssembly and JavaScript.
//
// Heads travel as one string: the first line or lines, then a line for a header's name and a line for its value
// (`written`, `headersIn`, and head.rs on the other side).

const settings = { redisUrl: '', redisAuthorization: '', originUrl: '' };

/** Takes the addresses from the environment, once an isolate. */
export function configure(env) {
  settings.redisUrl = trimmed(env.UPSTASH_REDIS_REST_URL);
  settings.redisAuthorization = `Bearer ${env.UPSTASH_REDIS_REST_TOKEN ?? ''}`;
  settings.originUrl = trimmed(env.ORIGIN_URL);
}

function trimmed(url) {
  return (url ?? '').replace(/\/+$/, '');
}

/**
 * Posts a command to Redis over REST. Resolves to "<status>\n<body>", or to "timeout" or "network" when there is
 * no answer; it never rejects.
 */
export async function redis_post(path, body, timeoutMs) {
  try {
    const response = await fetch(settings.redisUrl + path, {
      method: 'POST',
      headers: { authorization: settings.redisAuthorization, 'content-type': 'application/json' },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return `${response.status}\n${await response.text()}`;
  } catch (fault) {
    return kind(fault);
  }
}

/** What went wrong with a `fetch`. */
export function kind(fault) {
  return fault?.name === 'TimeoutError' ? 'timeout' : 'network';
}

/** One request's resources; never kept across requests, because the runtime forbids it. */
export class Exchange {
  constructor(request, env, context) {
    this.request = request;
    this.env = env;
    this.context = context;
    this.response = null;
    this.stream = null;
    this.head = '';
    this.body = null;
  }

  /**
   * Sends a request to the origin. Resolves to true when there is an answer: its head is in `head`, its body in
   * `body`, or, when it is larger than `keep` bytes, in `stream`. Else `head` says "timeout", "network" or "too large".
   * With `streams` from 0 on the client's own body is sent on as it comes, up to so many bytes, and the answer is a
   * stream as soon as its head is there; only a 404 is read, for the gate learns from it.
   */
  async forward(head, body, timeoutMs, keep, streams) {
    const lines = head.split('\n');
    const [method, target] = lines;
    const abort = new AbortController();
    const bare = method === 'GET' || method === 'HEAD';
    const upload = bare ? {} : streams < 0 ? { body } : this.upload(streams, abort);
    const timer = setTimeout(() => abort.abort(new DOMException('the origin is too slow', 'TimeoutError')), timeoutMs);
    try {
      const response = await fetch(settings.originUrl + target, {
        method,
        headers: headersIn(lines, 2),
        body: upload.body,
        // Whatever the origin's answer says of itself, no cache of the platform keeps it.
        cache: 'no-store',
        redirect: 'manual',
        signal: abort.signal,
      });
      const whole = streams < 0 || response.status === 404;
      const read = whole && response.body ? await gather(response.body, keep) : { rest: response.body };
      this.body = read.bytes ?? null;
      this.stream = read.rest ?? null;
      this.head = response.status + written(response.headers);
      return true;
    } catch (fault) {
      this.head = upload.over ? 'too large' : kind(fault);
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * The client's body as it comes. A length that was declared is what the platform lets through; where none was, bytes
   * are counted, and one too many breaks the request off.
   */
  upload(most, abort) {
    const { body, headers } = this.request;
    if (!body || (headers.has('content-length') && !headers.has('transfer-encoding'))) return { body };
    const upload = { over: false };
    let size = 0;
    const transform = (chunk, controller) => {
      size += chunk.byteLength;
      if (size <= most) return controller.enqueue(chunk);
      upload.over = true;
      controller.error(new Error('the body is too large'));
      abort.abort();
    };
    upload.body = body.pipeThrough(new TransformStream({ transform }));
    return upload;
  }

  /** Whether the platform's rate limit lets `key` pass; where it does not say, it does. */
  async flood(key) {
    try {
      return (await this.env.FLOOD.limit({ key })).success;
    } catch {
      return true;
    }
  }

  get is_streaming() {
    return this.stream !== null;
  }

  /** Makes the answer. `head` is the status line by line with the headers. */
  respond(head, body, streamed) {
    const lines = head.split('\n');
    const status = Number(lines[0]);
    const headers = headersIn(lines, 1);
    const bare = status === 204 || status === 205 || status === 304;
    this.response = new Response(bare ? null : streamed ? this.stream : body, { status, headers });
  }

  /** Keeps the isolate alive until `promise` is settled. */
  wait_until(promise) {
    this.context.waitUntil(promise);
  }
}

export function log(line) {
  console.log(line);
}

/** Whether the instance has panicked: its statics cannot be trusted any more. */
export const instance = { broken: false };

/** Called on the way down: a panic in the middle of a promise reaches nobody who could catch it. */
export function panicked(line) {
  instance.broken = true;
  console.error(line);
}

/** Headers as lines that follow a head's first ones; each cookie is one of its own, as the platform lists them. */
export function written(headers) {
  let text = '';
  for (const [name, value] of headers) text += `\n${name}\n${value}`;
  return text;
}

function headersIn(lines, from) {
  const headers = new Headers();
  for (let i = from; i + 1 < lines.length; i += 2) headers.append(lines[i], lines[i + 1]);
  return headers;
}

/** Reads `stream` to its end as `bytes`; when it is longer than `cap` bytes, all of it goes on as the stream `rest`. */
export async function gather(stream, cap) {
  const reader = stream.getReader();
  const chunks = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.byteLength;
    if (size > cap) return { rest: resumed(chunks, reader) };
  }
  return { bytes: joined(chunks, size) };
}

function joined(chunks, size) {
  if (chunks.length === 1) return chunks[0];
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}

function resumed(chunks, reader) {
  return new ReadableStream({
    async pull(controller) {
      if (chunks.length > 0) return controller.enqueue(chunks.shift());
      const { done, value } = await reader.read();
      return done ? controller.close() : controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
