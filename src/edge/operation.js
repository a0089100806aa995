// What only operators change: the replacement configuration.

let namespace = null;
let dataset = null;

/** Takes the bindings from the environment, once an isolate. */
export function attach(env) {
  namespace = env.GATE ?? null;
  dataset = env.ANALYTICS ?? null;
}

/**
 * The replacement configuration in KV: "+" and its text, "-" when there is none, "!" when KV does not answer. It never
 * rejects. KV may answer from its cache of 30 s, the shortest that it has.
 */
export async function live_document() {
  try {
    const text = await namespace.get('gate', { cacheTtl: 30 });
    return text === null ? '-' : `+${text}`;
  } catch {
    return '!';
  }
}

/** Writes one decision to Analytics Engine. A time is negative when there was none. */
export function measure(route, verdict, sku, took, redis, origin) {
  try {
    dataset.writeDataPoint({ indexes: [route], blobs: [route, verdict, sku], doubles: [took, redis, origin] });
  } catch {
    // A measurement is worth no request.
  }
}
