// How long to wait before an attempt. Pure.

/** First and longest wait of the exponential part, in milliseconds. */
export interface Backoff {
  first: number;
  longest: number;
}

/** 250 ms, doubled each time, at most 8 s. */
export const BACKOFF: Backoff = { first: 250, longest: 8_000 };

/**
 * Milliseconds to wait before attempt `next` (2 is the first repetition): what the server asked for, and on top of it
 * a random part that grows with the attempts, so that those who were refused together do not come back together.
 */
export function wait(next: number, retryAfter: number | undefined, random: number, terms: Backoff = BACKOFF): number {
  const ceiling = Math.min(terms.longest, terms.first * 2 ** Math.max(0, next - 2));
  return Math.round((retryAfter ?? ceiling / 2) + (random * ceiling) / 2);
}
