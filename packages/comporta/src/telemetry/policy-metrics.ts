import type { DecisionEvent } from '../core/events.js';
import type { Limiter } from '../limiter/limiter.js';
import type { Instruments } from './instruments.js';
import { algorithmNamer, askedStore, type DecisionOutcome, outcomeOf, sourceOf, utilizationOf } from './meaning.js';
import type { Attributes } from './meter.js';

/** From this used part on a limit is nearly reached. */
const NEAR = 0.8;

/** Counts the decisions of one policy. Attributes are made once for each combination: all of them are bounded. */
export class PolicyMetrics {
  readonly #instruments: Instruments;
  readonly #algorithmOf: ReturnType<typeof algorithmNamer>;
  readonly #policy: Attributes;
  readonly #made: Map<string, Attributes> = new Map();
  /** Of the decision before: the next is mostly like it, and then no text is made to find them. */
  #last: Attributes = {};

  constructor(instruments: Instruments, limiter: Limiter) {
    this.#instruments = instruments;
    this.#algorithmOf = algorithmNamer(limiter);
    this.#policy = { 'comporta.policy': limiter.policy };
  }

  decided(event: DecisionEvent): void {
    const { decision, shadow } = event;
    const { decisions, cost, utilization, nearLimit, wouldRefuse } = this.#instruments;
    const outcome = outcomeOf(event);
    const source = sourceOf(event);
    const algorithm = this.#algorithmOf(decision);
    decisions.add(1, this.#ofDecision(outcome, source, algorithm));
    this.#timed(event, source);
    const used = utilizationOf(decision);
    if (used !== undefined) utilization.record(used, this.#policy);
    if (decision.allowed) {
      cost.add(decision.cost, this.#policy);
      if (used !== undefined && used >= NEAR) nearLimit.add(1, this.#policy);
    } else if (shadow) {
      wouldRefuse.add(1, this.#policy);
    }
  }

  #timed(event: DecisionEvent, source: string): void {
    const { durationMs, store } = event;
    if (durationMs === undefined) return;
    const { duration, storeDuration } = this.#instruments;
    const seconds = durationMs / 1000;
    duration.record(
      seconds,
      this.#attributes(source, () => ({ ...this.#policy, 'comporta.source': source })),
    );
    if (store === 'memory' || !askedStore(event)) return;
    const fault = event.decision.degraded?.cause;
    storeDuration.record(
      seconds,
      this.#attributes(`store ${fault ?? ''}`, () => ({
        'comporta.store': store,
        ...(fault === undefined ? {} : { 'error.type': fault }),
      })),
    );
  }

  #ofDecision(outcome: DecisionOutcome, source: string, algorithm: string): Attributes {
    const last = this.#last;
    const isSame = last['comporta.outcome'] === outcome && last['comporta.source'] === source;
    if (isSame && last['comporta.algorithm'] === algorithm) return last;
    const key = `${outcome} ${source} ${algorithm}`;
    this.#last = this.#attributes(key, () => ({
      ...this.#policy,
      'comporta.outcome': outcome,
      'comporta.source': source,
      'comporta.algorithm': algorithm,
    }));
    return this.#last;
  }

  #attributes(key: string, make: () => Attributes): Attributes {
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#made.set(key, made);
    return made;
  }
}
