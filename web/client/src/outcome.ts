// What an answer means for the order: the one table of the client. Pure.

import type { Reply } from './reply.ts';

/** What to do next with an order that was sent. */
export type Verdict =
  /** It was placed, by this or an earlier attempt. Final. */
  | { kind: 'placed'; orderId: string; status: string }
  /** The user has all that one user may have. Final. */
  | { kind: 'already_bought'; orderId: string | undefined }
  /** It can never succeed, however often it is sent. Final. */
  | { kind: 'refused'; code: string }
  /** Not now: a restock, the start or the end of a pause may change it. The key stays. */
  | { kind: 'passing'; code: string; retryAfter: number | undefined }
  /** The user has to sign in again; then the same order may go on. The key stays. */
  | { kind: 'sign_in'; code: string }
  /** Send it again, not before `retryAfter`. The key stays. */
  | { kind: 'again'; code: string; retryAfter: number | undefined }
  /** It may or may not have been placed, and sending it again cannot tell. The user's orders can. */
  | { kind: 'look_up'; code: string };

/** The sale could sell again: the user may try later with the same key. */
const PASSING = new Set(['sold_out', 'sale_not_started', 'sale_paused', 'sale_unavailable']);
/** About the user's sign-in. */
const SIGN_IN = new Set(['identity_missing', 'identity_invalid', 'identity_expired']);
/** The order may exist although this attempt was refused: the key was used, or its record is lost. */
const LOOK_UP = new Set(['outcome_unknown', 'token_used_up', 'token_expired', 'idempotency_mismatch']);

/**
 * Judges an answer to an order.
 *
 * `repeated` says whether an earlier attempt may have reached the gate: then a refusal of the token says nothing about
 * what became of the first.
 */
export function judge(reply: Reply, repeated: boolean): Verdict {
  const { status, code, body, retryAfter } = reply;
  if (status >= 200 && status < 300) {
    if (typeof body.order_id === 'string') {
      return { kind: 'placed', orderId: body.order_id, status: String(body.status ?? 'queued') };
    }
    return { kind: 'again', code: 'unexpected', retryAfter };
  }
  if (code === 'already_bought') return { kind: 'already_bought', orderId: body.order_id };
  // Refused from an isolate's memory: only a repeated attempt is answered with what became of the first.
  if (body.outcome_known === false && !repeated) return { kind: 'again', code, retryAfter: retryAfter ?? 0 };
  if (PASSING.has(code)) return { kind: 'passing', code, retryAfter };
  if (SIGN_IN.has(code)) return { kind: 'sign_in', code };
  if (LOOK_UP.has(code) && (repeated || code === 'outcome_unknown')) return { kind: 'look_up', code };
  const isFinal = status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);
  if (isFinal || code === 'token_used_up') return { kind: 'refused', code };
  return { kind: 'again', code, retryAfter };
}

/** Whether nothing more can become of it: the key may be dropped. */
export function isFinal(verdict: Verdict): boolean {
  return verdict.kind === 'placed' || verdict.kind === 'already_bought' || verdict.kind === 'refused';
}
