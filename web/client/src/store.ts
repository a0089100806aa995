// The key of an order that has no final outcome yet, kept across reloads of the page.

/** What must not be lost while an order is under way. */
export interface Pending {
  /** The order token: the operation's key. */
  token: string;
  /** When the token ends, by the server's clock, in milliseconds since 1970. */
  expiresAt: number;
  /** Not before this moment of the server's clock should it be sent; 0 when at once. */
  notBefore: number;
  /** The body, byte for byte: another spelling would be another order. Undefined until it was first sent. */
  body?: string | undefined;
  /** Attempts that were sent. */
  attempts: number;
}

/** The part of `Storage` that is used. */
export type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Keeps one sale's pending order. A store that is full or forbidden costs only the survival of a reload. */
export class Keeper {
  readonly #store: Store | undefined;
  readonly #name: string;
  #memory: Pending | undefined;

  constructor(store: Store | undefined, name: string) {
    this.#store = store;
    this.#name = name;
    this.#memory = this.#read();
  }

  get(): Pending | undefined {
    return this.#memory;
  }

  set(pending: Pending): void {
    this.#memory = pending;
    try {
      this.#store?.setItem(this.#name, JSON.stringify(pending));
    } catch {
      // The page goes on without.
    }
  }

  clear(): void {
    this.#memory = undefined;
    try {
      this.#store?.removeItem(this.#name);
    } catch {
      // As above.
    }
  }

  #read(): Pending | undefined {
    try {
      const kept = JSON.parse(this.#store?.getItem(this.#name) ?? 'null') as Partial<Pending> | null;
      const sound =
        typeof kept?.token === 'string' && typeof kept.expiresAt === 'number' && typeof kept.attempts === 'number';
      return sound ? ({ notBefore: 0, ...kept } as Pending) : undefined;
    } catch {
      return undefined;
    }
  }
}
