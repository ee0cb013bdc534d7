import type { Decision, DecisionEvent, Limiter, LimiterEvents } from 'comporta';
import { monotonicMs } from '../time.js';

type OnDecision = (event: DecisionEvent) => void;

/** What a rule made of a count. */
export interface Judgement {
  readonly cost: number;
  /** What there is of its limit, and what is left. */
  readonly room: number;
  readonly remaining: number;
  readonly isOver: boolean;
  /** It refuses nobody. */
  readonly isShadow: boolean;
}

/**
 * A limiter that only counts, under limits that nobody reaches. Whoever listens to it is told what the rules decided,
 * by their own limits; all else that it tells stays as it is.
 */
export class JudgedLimiter {
  /** Who counts. */
  readonly counter: Limiter;
  /** As listeners see it. */
  readonly seen: Limiter;
  readonly #store: string;
  readonly #listeners: Set<OnDecision> = new Set();

  constructor(counter: Limiter, store: string) {
    this.counter = counter;
    this.#store = store;
    const on = <K extends keyof LimiterEvents>(name: K, listener: (event: LimiterEvents[K]) => void): (() => void) => {
      if (name !== 'decision') return counter.on(name, listener);
      this.#listeners.add(listener as OnDecision);
      return () => void this.#listeners.delete(listener as OnDecision);
    };
    this.seen = new Proxy(counter, {
      get: (of, name) => {
        if (name === 'on') return on;
        const value: unknown = Reflect.get(of, name);
        return typeof value === 'function' ? value.bind(of) : value;
      },
    });
  }

  /** When a decision begins, where somebody listens. */
  start(): number | undefined {
    return this.#listeners.size > 0 ? monotonicMs() : undefined;
  }

  /** Of a decision that began then; what charges nothing is only a look. */
  tell(counted: Decision, judgement: Judgement, startMs: number | undefined): void {
    if (startMs === undefined || judgement.cost === 0) return;
    const event = {
      policy: counted.policy,
      decision: judged(counted, judgement),
      shadow: judgement.isShadow,
      store: this.#store,
      durationMs: monotonicMs() - startMs,
    };
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // The listener's fault is its own; the decision goes on.
      }
    }
  }
}

function judged(counted: Decision, { cost, room, remaining, isOver }: Judgement): Decision {
  const { policy, subject, id, atUs, degraded, limits } = counted;
  const [state] = limits;
  // Nobody counted: the failure mode decided.
  if (state === undefined) return counted;
  const retryAfterMs = isOver ? state.resetAfterMs : 0;
  const binding = {
    id: state.id,
    limit: room,
    windowMs: state.windowMs,
    remaining,
    retryAfterMs,
    resetAfterMs: state.resetAfterMs,
    nextAfterMs: state.nextAfterMs,
  };
  return {
    allowed: !isOver,
    reason: isOver ? 'limit-exceeded' : undefined,
    policy,
    subject,
    cost,
    id,
    atUs,
    limits: [binding],
    binding,
    retryAfterMs,
    degraded,
  };
}
