import type { Degraded, FailureMode } from '../core/decision.js';
import type { Emitter, LimiterEvents, StoreFailure } from '../core/events.js';
import type { Clock } from '../core/time.js';
import { StoreError } from '../core/waiting.js';
import { REFUSALS } from './asker.js';
import { Complaints } from './complaints.js';
import type { StoreHealth } from './health.js';
import { Outages } from './outages.js';

export interface ReportsOptions {
  readonly policy: string;
  readonly mode: FailureMode;
  readonly clock: Clock;
  readonly events: Emitter<LimiterEvents>;
}

/** Tells the listeners of a limiter how its store fares, node by node, and whoever has no listeners by notices. */
export class Reports {
  readonly #health: StoreHealth;
  readonly #options: ReportsOptions;
  readonly #outages: Outages = new Outages();
  readonly #complaints: Complaints = new Complaints();

  constructor(health: StoreHealth, options: ReportsOptions) {
    this.#health = health;
    this.#options = options;
  }

  /** A node answered. */
  answered(node: string): void {
    if (this.#outages.isEmpty) return;
    const { policy, clock, events } = this.#options;
    for (const over of this.#outages.answered(node, clock.nowUs() / 1000)) {
      this.#health.node(over).notices.recovered();
      events.emit('recovered', { policy, node: over });
    }
  }

  /** What a failure means for the decision that met it; `nodeNow` says where its subject lives at any time. */
  failed(error: unknown, node: string, nodeNow: () => string): Degraded {
    const { policy, mode } = this.#options;
    const cause = error instanceof StoreError ? error.kind : 'unavailable';
    const degraded: Degraded = { mode, cause, detail: error instanceof Error ? error.message : String(error) };
    // A caller that gives up says nothing about the store.
    if (cause !== 'aborted') this.#tell({ policy, node, degraded }, nodeNow);
    return degraded;
  }

  /** The store holds terms that this process does not understand, and goes on without. */
  misunderstood(text: string): void {
    const { policy, mode, clock, events } = this.#options;
    const detail = `terms of a subject are not understood: ${text.slice(0, 100)}`;
    if (!this.#complaints.isNews(detail, clock.nowUs() / 1000)) return;
    events.emit('config', { policy, node: '', degraded: { mode, cause: 'misconfigured', detail } });
  }

  #tell(failure: StoreFailure, nodeNow: () => string): void {
    const { policy, node, degraded } = failure;
    const { clock, events } = this.#options;
    const atMs = clock.nowUs() / 1000;
    const isComplaint = degraded.cause === 'misconfigured';
    if (!(degraded.cause in REFUSALS)) events.emit('storeError', failure);
    if (isComplaint && events.has('config') && this.#complaints.isNews(degraded.detail, atMs)) {
      events.emit('config', failure);
    }
    if (!events.has('degraded')) this.#health.node(node).notices.failed(policy, degraded);
    if (this.#outages.failed(node, { nodeNow, atMs, isComplaint })) events.emit('degraded', failure);
  }
}
