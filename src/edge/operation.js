// What only operators change: the replacement configuration.

let namespace = null;

/** Takes the bindings from the environment, once an isolate. */
export function attach(env) {
  namespace = env.GATE ?? null;
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
