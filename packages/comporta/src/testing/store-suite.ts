import type { Store } from '../stores/store.js';
import { actionChecks } from './store-actions.js';
import { decisionChecks } from './store-decisions.js';
import { subjectChecks } from './store-subjects.js';

/** One thing that a store must do. */
export interface StoreCase {
  /** A sentence, unique in the suite. */
  readonly name: string;
  /**
   * `decisions`: what every store does. `subjects`: keeps apart whatever somebody chooses as a subject.
   * `actions`: reservations, blocks, overrides, places and so on, of stores with an `act`.
   */
  readonly part: 'decisions' | 'subjects' | 'actions';
  /**
   * Rejects with an `AssertionError` where the store does otherwise. Cases share no subjects, so they may run
   * one after the other, or at once, on one store that nobody used before.
   */
  run(store: Store): Promise<void>;
}

/** A {@link StoreCase} without its part. */
export type StoreCheck = Omit<StoreCase, 'part'>;

const partOf = (part: StoreCase['part'], checks: readonly StoreCheck[]): StoreCase[] =>
  checks.map((check) => ({ ...check, part }));

/** What every store must do, for any test runner; runs in real time, for each store has a clock of its own. */
export const storeSuite: readonly StoreCase[] = [
  ...partOf('decisions', decisionChecks),
  ...partOf('subjects', subjectChecks),
  ...partOf('actions', actionChecks),
];
