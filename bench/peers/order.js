// What every protecting peer does before and after its own way of asking Redis. Written to be fast: keys are imported
// once an isolate, hashes of one request run at once, nothing is parsed twice.

import { jwtVerify, SignJWT } from 'jose';

const ISSUER = 'https://shop.example';
const AUDIENCE = 'sluice';
const TOKEN_BYTES = 89;
const SIGNED_BYTES = 57;
const FORWARD_MS = 10_000;
const encoder = new TextEncoder();
const DOMAIN = encoder.encode('sluice order token');

/** How long a claim keeps others out, and how long an answer is kept. */
export const LEASE_MS = 30_000;
export const RETENTION_MS = 86_400_000;

/** The user's bucket and the address' bucket, as gate.toml has them. */
export const USER = { burst: 5, perSecond: 2 };
export const IP = { burst: 20, perSecond: 10 };

let keys;

/** The imported secrets, once an isolate. */
export function secrets(env) {
  keys ??= Promise.all([
    hmac(env.USER_JWT_SECRET, 'verify'),
    hmac(env.ORDER_TOKEN_SECRET, 'verify'),
    hmac(env.ASSERTION_SECRET, 'sign'),
  ]).then(([user, token, assertion]) => ({ user, token, assertion }));
  return keys;
}

function hmac(secret, usage) {
  return crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [usage]);
}

/** The user that the bearer's JWT names, or undefined. */
export async function user(request, key) {
  const header = request.headers.get('authorization');
  if (!header?.startsWith('Bearer ')) return undefined;
  try {
    const { payload } = await jwtVerify(header.slice(7), key, {
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience: AUDIENCE,
    });
    return payload.sub;
  } catch {
    return undefined;
  }
}

/** Reads and checks a whole order: a Response when it is refused, else what the rest needs. */
export async function read(request, env) {
  const url = new URL(request.url);
  if (url.pathname === '/healthz') return new Response('ok');
  const sku = /^\/v1\/sales\/([A-Za-z0-9._-]{1,64})\/orders$/.exec(url.pathname)?.[1];
  if (!sku || request.method !== 'POST') return problem(404, 'not_found');
  const { user: userKey, token: tokenKey, assertion } = await secrets(env);
  const [who, body] = await Promise.all([user(request, userKey), request.arrayBuffer()]);
  if (!who) return problem(401, 'identity_invalid');
  const [id, digest] = await Promise.all([
    tokenId(request.headers.get('sluice-order-token'), who, sku, tokenKey),
    crypto.subtle.digest('SHA-256', body),
  ]);
  if (!id) return problem(403, 'token_invalid');
  return {
    sku,
    body,
    assertion,
    user: who,
    ip: request.headers.get('cf-connecting-ip') ?? 'none',
    path: url.pathname + url.search,
    method: request.method,
    contentType: request.headers.get('content-type') ?? 'application/json',
    operation: id,
    owner: base64url(crypto.getRandomValues(new Uint8Array(16))),
    bodyHash: base64url(new Uint8Array(digest)),
  };
}

/** The id of an order token that holds for this user and sale, or undefined. */
async function tokenId(text, who, sku, key) {
  const bytes = fromBase64url(text ?? '');
  if (bytes?.length !== TOKEN_BYTES || bytes[0] !== 1) return undefined;
  const signed = bytes.subarray(0, SIGNED_BYTES);
  const message = new Uint8Array(DOMAIN.length + SIGNED_BYTES);
  message.set(DOMAIN);
  message.set(signed, DOMAIN.length);
  const [valid, userTag, skuTag] = await Promise.all([
    crypto.subtle.verify('HMAC', key, bytes.subarray(SIGNED_BYTES), message),
    boundTo('user', who),
    skuTags.get(sku) ?? rememberSku(sku),
  ]);
  if (!valid || !equal(signed.subarray(25, 41), userTag) || !equal(signed.subarray(41, 57), skuTag)) return undefined;
  const expires = new DataView(bytes.buffer, bytes.byteOffset + 17, 8).getBigUint64(0);
  return expires > BigInt(Date.now()) ? base64url(signed.subarray(1, 17)) : undefined;
}

const skuTags = new Map();

async function rememberSku(sku) {
  const tag = await boundTo('sku', sku);
  if (skuTags.size < 1000) skuTags.set(sku, tag);
  return tag;
}

/** The first 128 bits of SHA-256 over length-prefixed parts, as order tokens hold them. */
async function boundTo(kind, text) {
  const parts = [DOMAIN, encoder.encode(kind), encoder.encode(text)];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + 8 + part.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const part of parts) {
    view.setBigUint64(at, BigInt(part.length));
    bytes.set(part, at + 8);
    at += 8 + part.length;
  }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes), 0, 16);
}

/** Key of the operation's claim. */
export function claimKey(order) {
  return `{p0}:claim:${order.operation}`;
}

/** The claim in flight: the record that the origin finishes with its answer. */
export function claim(order, now) {
  const fingerprint = order.bodyHash.slice(0, 22);
  return `F${now + LEASE_MS}00${RETENTION_MS}${order.owner}${fingerprint}${order.operation}`;
}

/** The answer to an operation that has a claim already. */
export function earlier(record, order) {
  if (record.slice(46, 68) !== order.bodyHash.slice(0, 22)) return problem(422, 'idempotency_mismatch');
  if (record[0] !== 'D') return problem(409, 'in_progress', 1);
  const end = record.indexOf('\n\n', 90);
  const [status, ...lines] = record.slice(90, end).split('\n');
  const headers = new Headers({ 'idempotency-replayed': 'true', 'cache-control': 'private, no-store' });
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return new Response(record.slice(end + 3), { status: Number(status.slice(0, 3)), headers });
}

/** Sends the order on, signed for, and returns the origin's answer without what is meant for the gateway. */
export async function forward(order, env) {
  const operation = { id: order.operation, claim: claimKey(order), owner: order.owner };
  const assertion = await new SignJWT({
    ip: order.ip,
    sku: order.sku,
    mtd: order.method,
    pth: order.path,
    bdy: order.bodyHash,
    op: { ...operation, not_after: Date.now() + FORWARD_MS },
  })
    .setProtectedHeader({ alg: 'HS256', typ: 'sluice-assertion+jwt' })
    .setIssuer('sluice-edge')
    .setAudience('sluice-origin')
    .setSubject(order.user)
    .setExpirationTime('30s')
    .sign(order.assertion);
  const answer = await fetch(env.ORIGIN_URL + order.path, {
    method: order.method,
    headers: { 'content-type': order.contentType, 'sluice-assertion': assertion },
    body: order.body,
    redirect: 'manual',
  });
  const headers = new Headers(answer.headers);
  for (const name of ['sluice-outcome', 'sluice-completed', 'sluice-sold-out']) headers.delete(name);
  headers.set('cache-control', 'private, no-store');
  return new Response(answer.body, { status: answer.status, headers });
}

/** A refusal. */
export function problem(status, code, retryAfter) {
  const headers = { 'content-type': 'application/problem+json', 'cache-control': 'private, no-store' };
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  return new Response(JSON.stringify({ type: `urn:problem:${code}`, status, code }), { status, headers });
}

/** Whole seconds until `ms` is over. */
export function seconds(ms) {
  return Math.max(1, Math.ceil(ms / 1000));
}

function equal(a, b) {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function fromBase64url(text) {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    return undefined;
  }
}

