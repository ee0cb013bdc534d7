import type { DegradedCause } from './decision.js';

/** Somebody waiting for an answer. Once `isOver`, a store sends nothing more on its behalf. */
export interface Waiter {
  isOver: boolean;
}

/** A store that could not answer. Never reaches a caller of the limiter: the guard turns it into a decision. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError';
  readonly kind: DegradedCause;
  constructor(kind: DegradedCause, message: string) {
    super(message);
    this.kind = kind;
  }
}
