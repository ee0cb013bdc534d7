import type { DegradedCause } from './decision.js';

/** Somebody waiting for an answer. Once `isOver`, a store sends nothing more on its behalf. */
export interface Waiter {
  isOver: boolean;
}

/** A store that could not answer. Never reaches a caller of the limiter: the guard turns it into a decision. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError';
  readonly kind: DegradedCause;
  /** Nothing was sent, so nothing can have been charged. */
  readonly isUnsent: boolean;
  constructor(kind: DegradedCause, message: string, isUnsent = false) {
    super(message);
    this.kind = kind;
    this.isUnsent = isUnsent;
  }
}
