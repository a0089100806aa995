// Server time, learnt from the `now` that answers carry. The page's own clock may be wrong by minutes.

/** What the library needs of the world; tests bring their own. */
export interface World {
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Milliseconds of this machine's clock. */
  now(): number;
  /** Resolves after so many milliseconds; rejects when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** From 0 (included) to 1 (excluded). */
  random(): number;
}

/** The browser, or Node. */
export const platform: World = {
  fetch: (url, init) => globalThis.fetch(url, init),
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      signal?.addEventListener('abort', stop, { once: true });
    }),
};

/** Estimates the server's clock. The answer that travelled fastest says it best. */
export class ServerClock {
  readonly #world: World;
  #offset = 0;
  #travel = Number.POSITIVE_INFINITY;

  constructor(world: World) {
    this.#world = world;
  }

  /** Learns from an answer that said `serverNow`, was asked for at `asked` and came at `heard` (local milliseconds). */
  learn(serverNow: number, asked: number, heard: number): void {
    const travel = heard - asked;
    if (travel < 0 || travel > this.#travel) return;
    this.#travel = travel;
    this.#offset = serverNow - (asked + travel / 2);
  }

  /** Milliseconds since 1970 by the server's clock; by this machine's until an answer told. */
  now(): number {
    return this.#world.now() + this.#offset;
  }

  /** How long until the server's clock shows `at`; never negative. */
  until(at: number): number {
    return Math.max(0, at - this.now());
  }
}
