import type { IncomingMessage } from 'node:http';
import type { Limiter, Store } from 'comporta';
import { createGate } from 'comporta/http';
import type { Insight } from '../admin/insight.js';
import type { Alerts } from '../alerts/alerts.js';
import type { ServerConfig } from '../config/config.js';
import type { StoreWatch } from '../health/store-watch.js';
import { type Log, warnOnce } from '../log.js';
import type { Metrics } from '../metrics/metrics.js';
import { within } from '../time.js';
import { Rules } from './rules.js';

/** What listens to the limiters of each new gate. */
export interface EngineOptions {
  readonly store: Store;
  readonly watch: StoreWatch;
  readonly alerts: Alerts;
  readonly metrics: Metrics;
  readonly insight?: Insight | undefined;
  readonly log: Log;
}

/** How long the end waits for what is given back after the last connection was cut. */
const ENDING_MAX_MS = 2000;

/** Holds the rules in force, which all doors of the server decide by. */
export class Engine {
  readonly store: Store;
  readonly #options: EngineOptions;
  readonly #endings: Set<Promise<void>> = new Set();
  #rules: Rules;
  #config: ServerConfig;

  constructor(config: ServerConfig, options: EngineOptions) {
    this.store = options.store;
    this.#options = options;
    this.#config = config;
    this.#rules = this.#build(config);
    this.#follow(this.#rules);
  }

  get rules(): Rules {
    return this.#rules;
  }

  get config(): ServerConfig {
    return this.#config;
  }

  /** Puts other rules in force: `use` gives them to the doors. When either throws, the doors get the old ones back. */
  apply(config: ServerConfig, use: (config: ServerConfig, rules: Rules) => void): void {
    const old = this.#rules;
    const rules = this.#build(config);
    try {
      use(config, rules);
    } catch (error) {
      this.#giveBack(use);
      this.#retire(rules);
      throw error;
    }
    this.#rules = rules;
    this.#config = config;
    this.#follow(rules);
    this.#retire(old);
  }

  /** Tells of a store that fails a limiter of a door's own, and counts what it decides; the answer ends that. */
  listen(limiter: Limiter): () => void {
    const { watch, metrics, alerts, insight } = this.#options;
    const stops = [...watch.listen(limiter), alerts.add(limiter), metrics.follow(limiter)];
    if (insight !== undefined) stops.push(insight.follow(limiter));
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** After the doors: what was cut is given back while the store is still there. */
  async close(): Promise<void> {
    this.#retire(this.#rules);
    const endings = Promise.all(this.#endings);
    await within(ENDING_MAX_MS, endings, 'requests that do not end').catch(() => undefined);
  }

  #build({ gate }: ServerConfig): Rules {
    const { store, log } = this.#options;
    const options = { ...gate, store, onError: warnOnce(log) };
    return new Rules(gate.policies.length === 0 ? undefined : createGate<IncomingMessage>(options));
  }

  #follow({ gate }: Rules): void {
    const { watch, alerts, metrics, insight } = this.#options;
    if (gate !== undefined) {
      watch.follow(gate);
      metrics.follow(gate);
      insight?.renew(gate);
    }
    alerts.follow(gate);
  }

  /** To the doors that had taken others; the one that threw never had, and may throw again. */
  #giveBack(use: (config: ServerConfig, rules: Rules) => void): void {
    try {
      use(this.#config, this.#rules);
    } catch {
      // It is told of once.
    }
  }

  #retire(rules: Rules): void {
    const ending: Promise<void> = rules.retire().then(() => void this.#endings.delete(ending));
    this.#endings.add(ending);
  }
}
