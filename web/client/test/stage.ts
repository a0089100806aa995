// A scripted server and a clock that only moves when somebody waits.

import type { World } from '../src/clock.ts';
import { Buyer, type Options, type Progress } from '../src/index.ts';
import type { Store } from '../src/store.ts';

export const NOW = 1_800_000_000_000;

/** One answer of the server: status, body, headers; or no answer at all. */
export type Line = { status: number; body?: object; headers?: Record<string, string> } | 'network';

export const token = (more: object = {}): Line => ({
  status: 200,
  body: { token: 'T1', expires_at: NOW + 600_000, now: NOW, ...more },
});
export const placed: Line = { status: 202, body: { order_id: '0-1', status: 'queued' } };
export const refusal = (status: number, code: string, more: object = {}, headers = {}): Line => ({
  status,
  body: { code, status, ...more },
  headers,
});

/** What the server was asked, and how long the page waited. */
export class Stage implements World {
  readonly asked: { method: string; path: string; headers: Headers; body: string | null }[] = [];
  readonly waits: number[] = [];
  readonly progress: Progress[] = [];
  readonly stored = new Map<string, string>();
  chance = 0;
  passed = 0;
  #lines: Line[];

  constructor(...lines: Line[]) {
    this.#lines = lines;
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    init.signal?.throwIfAborted();
    const body = typeof init.body === 'string' ? init.body : null;
    this.asked.push({ method: init.method ?? 'GET', path: url, headers: new Headers(init.headers), body });
    const line = this.#lines.shift();
    if (line === undefined) throw new Error(`not foreseen: ${init.method} ${url}`);
    if (line === 'network') throw new TypeError('network');
    return new Response(line.body ? JSON.stringify(line.body) : null, {
      status: line.status,
      headers: line.headers ?? {},
    });
  }

  now(): number {
    return NOW + this.passed;
  }

  random(): number {
    return this.chance;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.waits.push(ms);
    this.passed += ms;
  }

  /** What the server will answer next. */
  says(...lines: Line[]): void {
    this.#lines.push(...lines);
  }

  /** Whether the whole script was played. */
  get isOver(): boolean {
    return this.#lines.length === 0;
  }

  get store(): Store {
    return {
      getItem: (name) => this.stored.get(name) ?? null,
      setItem: (name, value) => void this.stored.set(name, value),
      removeItem: (name) => void this.stored.delete(name),
    };
  }

  /** A page that has just been loaded. */
  page(more: Partial<Options> = {}): Buyer {
    return new Buyer({
      sku: 'demo',
      authorization: () => 'Bearer jwt',
      store: this.store,
      world: this,
      onProgress: (progress) => this.progress.push(progress),
      ...more,
    });
  }

  /** The orders that were sent. */
  get orders(): typeof this.asked {
    return this.asked.filter((ask) => ask.path.endsWith('/orders'));
  }
}
