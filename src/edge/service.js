// Services beside Redis and the origin: the platform's cryptography, its timers, and addresses of the configuration.

import { gather, kind } from './host.js';

/** More than the keys of one set; a bound, so that sets that change for ever do not fill the isolate. */
const KEYS = 64;

/** Imported keys by their JWK. A key is plain data and outlives the request that imported it. */
const keys = new Map();

/** How each algorithm's keys are imported, and how its signatures are checked. */
const algorithms = {
  ES256: [{ name: 'ECDSA', namedCurve: 'P-256' }, { name: 'ECDSA', hash: 'SHA-256' }],
  RS256: [{ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, { name: 'RSASSA-PKCS1-v1_5' }],
  EdDSA: [{ name: 'Ed25519' }, { name: 'Ed25519' }],
};

/** Whether a signature is good. It never rejects: what cannot be checked is not good. */
export async function verify(algorithm, jwk, message, signature) {
  // Views of memory that may have changed when the key is there.
  const [signed, made] = [message.slice(), signature.slice()];
  try {
    const [importing, checking] = algorithms[algorithm];
    let key = keys.get(jwk);
    if (!key) {
      key = await crypto.subtle.importKey('jwk', JSON.parse(jwk), importing, false, ['verify']);
      if (keys.size >= KEYS) keys.clear();
      keys.set(jwk, key);
    }
    return await crypto.subtle.verify(checking, key, made, signed);
  } catch {
    return false;
  }
}

/**
 * Reads an address, or posts a form to it, whose fields are a line for a name and a line for its value. Resolves to
 * "<status>\n<body>", or to "timeout", "network" or "large"; it never rejects.
 */
export async function ask(url, form, timeoutMs, cap) {
  try {
    const lines = form.split('\n');
    const fields = new URLSearchParams();
    for (let i = 0; i + 1 < lines.length; i += 2) fields.append(lines[i], lines[i + 1]);
    const response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      headers: { accept: 'application/json' },
      body: form ? fields : undefined,
      cache: 'no-store',
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { bytes, rest } = response.body ? await gather(response.body, cap) : {};
    await rest?.cancel();
    return rest ? 'large' : `${response.status}\n${new TextDecoder().decode(bytes)}`;
  } catch (fault) {
    return kind(fault);
  }
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
