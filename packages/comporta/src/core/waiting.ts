import type { DegradedCause } from './decision.js';
import type { ErrorCode } from './errors.js';

/** One call that several wait for. */
export interface SharedCall {
  /** Its failure was told of by one of them. */
  hasFailed: boolean;
}

/** Somebody waiting for an answer. Once `isOver`, a store sends nothing more on its behalf. */
export interface Waiter {
  isOver: boolean;
  /** How long it waits in all; a connection is not given up sooner. */
  readonly timeoutMs?: number;
  /** The store keeps the call back for now: should it be over meanwhile, nothing was sent. */
  isHeld?: boolean;
  /** The call, where it goes for several: set when it is sent, by who sends it. */
  call?: SharedCall | undefined;
  /** Called when it is over. */
  onOver?: (() => void) | undefined;
}

/**
 * A store that could not answer. Decisions never reject with it: the guard makes a degraded decision of it. What only
 * the store can do does: `charge`, `reward`, `block`, `setOverride`, `reset`, `ready` and the like.
 */
export class StoreError extends Error {
  override readonly name: string = 'StoreError';
  readonly code: ErrorCode = 'ERR_STORE';
  readonly kind: DegradedCause;
  /** Nothing can have been charged: nothing was sent, or every answer proved that nothing ran. */
  readonly isUnsent: boolean;
  /** The node answered, though not with a decision: it lives. */
  readonly isAnswer: boolean;
  /** The first connection is still being made: no sign that anything failed. */
  readonly isStarting: boolean;

  constructor(
    kind: DegradedCause,
    message: string,
    about: { readonly isUnsent?: boolean; readonly isAnswer?: boolean; readonly isStarting?: boolean } = {},
  ) {
    super(message);
    this.kind = kind;
    this.isUnsent = about.isUnsent ?? false;
    this.isAnswer = about.isAnswer ?? kind === 'misconfigured';
    this.isStarting = about.isStarting ?? false;
  }
}
