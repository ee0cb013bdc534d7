import { nextTurn } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';

/** Calls that travel in one request, and their characters. */
const CALLS_MAX = 128;
const CHARACTERS_MAX = 512 * 1024;

/** How long a request of nobody with a time limit is waited for, in ms. */
const UNHURRIED_MS = 5000;

/** One call: what is sent of it, as text of JSON, and whatever its sender keeps with it. */
export interface Sendable {
  readonly text: string;
}

export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** Sends calls in one request. One outcome for each, in their order; rejects when all fail alike. */
export type Deliver<Item> = (items: readonly Item[], timeoutMs: number) => Promise<readonly Outcome[]>;

interface Entry<Item> {
  readonly item: Item;
  readonly waiter: Waiter | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Gathers calls that are made in one tick. Only calls with the same time limit travel together, so that none
 * waits for one that has more time.
 */
export class Batches<Item extends Sendable> {
  readonly #deliver: Deliver<Item>;
  readonly #joins: boolean;
  readonly #open: Map<number, Entry<Item>[]> = new Map();
  readonly #characters: Map<number, number> = new Map();
  #isDue = false;

  constructor(deliver: Deliver<Item>, joins: boolean) {
    this.#deliver = deliver;
    this.#joins = joins;
  }

  /** The call's value; rejects with its error. */
  ask(item: Item, waiter: Waiter | undefined): Promise<unknown> {
    const timeoutMs = Math.max(1, Math.floor(waiter?.timeoutMs ?? UNHURRIED_MS));
    return new Promise((resolve, reject) => {
      const entry = { item, waiter, resolve, reject };
      if (this.#joins) this.#add(entry, timeoutMs);
      else void this.#send([entry], timeoutMs);
    });
  }

  #add(entry: Entry<Item>, timeoutMs: number): void {
    const { length } = entry.item.text;
    const characters = (this.#characters.get(timeoutMs) ?? 0) + length;
    if (characters > CHARACTERS_MAX) this.#flush(timeoutMs);
    const entries = this.#open.get(timeoutMs) ?? [];
    entries.push(entry);
    this.#open.set(timeoutMs, entries);
    this.#characters.set(timeoutMs, characters > CHARACTERS_MAX ? length : characters);
    if (entries.length >= CALLS_MAX) this.#flush(timeoutMs);
    if (this.#isDue) return;
    this.#isDue = true;
    void nextTurn().then(() => {
      this.#isDue = false;
      for (const each of [...this.#open.keys()]) this.#flush(each);
    });
  }

  #flush(timeoutMs: number): void {
    const entries = this.#open.get(timeoutMs);
    this.#open.delete(timeoutMs);
    this.#characters.delete(timeoutMs);
    if (entries !== undefined) void this.#send(entries, timeoutMs);
  }

  async #send(all: readonly Entry<Item>[], timeoutMs: number): Promise<void> {
    const entries = all.filter(({ waiter, reject }) => {
      if (waiter?.isOver !== true) return true;
      reject(new StoreError('timeout', 'the time limit ended before the call was sent', { isUnsent: true }));
      return false;
    });
    if (entries.length === 0) return;
    try {
      const items = entries.map(({ item }) => item);
      const outcomes = await this.#deliver(items, timeoutMs);
      entries.forEach(({ resolve, reject }, i) => {
        const outcome = outcomes[i] as Outcome;
        if ('error' in outcome) reject(outcome.error);
        else resolve(outcome.value);
      });
    } catch (error) {
      for (const { reject } of entries) reject(error);
    }
  }
}
