import { memoryStore, type Plan, type PolicyStore, type Store } from 'comporta';
import type { FakeClock } from '../../support/fake-clock.js';

/** What a remote store is asked, for those who listen. */
export interface AskedOf {
  readonly operation: string;
  readonly given: readonly unknown[];
}

export interface RemoteOptions {
  /** How long a question is on its way, in ms; its answer comes at once, so that it is admitted when it is charged. */
  readonly wayMs?: () => number;
  readonly peers?: () => number | undefined;
  readonly onAsked?: (asked: AskedOf) => void;
}

const ANSWERED = ['consume', 'peek', 'refund', 'reset', 'act', 'force'] as const;

/** A store in memory that stands for one elsewhere: what is asked gets there later. */
export function remoteStore(memory: Store, clock: FakeClock, options: RemoteOptions = {}): Store {
  const { wayMs = () => 0, peers, onAsked } = options;
  const travel = (): Promise<void> => {
    const ms = wayMs();
    return ms === 0 ? Promise.resolve() : new Promise((resolve) => void clock.startTimer(ms, resolve));
  };
  const bind = (plan: Plan): PolicyStore => {
    const there = memory.bind(plan) as unknown as Record<string, (...given: unknown[]) => unknown>;
    const far = ANSWERED.map((operation) => [
      operation,
      async (...given: unknown[]) => {
        onAsked?.({ operation, given });
        await travel();
        return there[operation]?.(...given);
      },
    ]);
    return { ...(Object.fromEntries(far) as unknown as PolicyStore), ...(peers && { peers }) };
  };
  return { kind: 'redis', owner: {}, bind, ping: async () => {}, ready: async () => {}, close: async () => {} };
}

export const memoryOf = (clock: FakeClock): Store => memoryStore({ clock });

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function chanceOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
