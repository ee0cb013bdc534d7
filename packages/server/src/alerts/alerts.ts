import { randomUUID } from 'node:crypto';
import type { Limiter, StoreFailure } from 'comporta';
import type { Gate } from 'comporta/http';
import type { AlertsConfig } from '../config/types.js';
import { Missed } from '../health/missed.js';
import type { Log } from '../log.js';
import { type Alert, keyOf } from './alert.js';
import { type AlertClock, systemClock } from './clock.js';
import { Conditions } from './conditions.js';
import { Delivery } from './delivery.js';
import { Probe } from './probe.js';
import { RETRY_DEFAULTS, type RetrySettings } from './retry.js';
import { type Findings, onBreaker, onStoreAnswer, onStoreFailure } from './rules.js';
import { toSink } from './sinks.js';
import { Transport } from './transport.js';

export interface AlertsOptions {
  readonly config: AlertsConfig | undefined;
  /** Who tells: host name and port. */
  readonly instance: string;
  readonly log: Log;
  /** Takes what is found, in place of the sinks: another process sends it, for all workers. */
  readonly forward?: ((findings: Findings) => void) | undefined;
  readonly clock?: AlertClock;
  readonly settings?: RetrySettings;
}

const FLUSH_MS = 2000;
const PROBE_EVERY_MS = 500;
const TIMER_MAX_MS = 60_000;

/** Turns what limiters tell into alerts and sends them. Without sinks it does nothing at all. */
export class Alerts {
  readonly #options: AlertsOptions;
  readonly #clock: AlertClock;
  readonly #conditions: Conditions;
  readonly #probe: Probe = new Probe();
  readonly #missed: Missed = new Missed();
  #config: AlertsConfig | undefined;
  #deliveries: readonly Delivery[] = [];
  #limiters: ReadonlyMap<string, Limiter> = new Map();
  /** Of no gate, with what ends listening to them. */
  readonly #others: Map<Limiter, readonly (() => void)[]> = new Map();
  #stopListening: readonly (() => void)[] = [];
  #stopTimer: () => void = () => undefined;
  #stopProbe: (() => void) | undefined;
  #stopResend: (() => void) | undefined;
  #isClosed = false;

  constructor(options: AlertsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#conditions = new Conditions(options.config?.cooldown ?? 0);
    this.apply(options.config);
  }

  /** Takes a changed section; alerts that are on stay on. */
  apply(config: AlertsConfig | undefined): void {
    if (JSON.stringify(config) === JSON.stringify(this.#config)) return;
    for (const delivery of this.#deliveries) void delivery.close(FLUSH_MS);
    this.#config = config;
    this.#conditions.cooldownMs = config?.cooldown ?? 0;
    const sinks = this.#options.forward === undefined ? (config?.sinks ?? []) : [];
    this.#deliveries = sinks.map((sink, i) => this.#deliver(toSink(sink, i)));
    for (const delivery of this.#deliveries) void delivery.check();
    this.#listen();
  }

  /** Listens to the limiters of a new gate instead of those before; to none when there is no gate. */
  follow(gate: Gate<never> | Gate | undefined): void {
    this.#limiters = gate?.limiters ?? new Map();
    this.#listen();
  }

  /** Listens to one limiter more, which no gate has, until what it answers is called. */
  add(limiter: Limiter): () => void {
    this.#others.set(limiter, this.#isOff ? [] : this.#hear(limiter));
    return () => {
      for (const stop of this.#others.get(limiter) ?? []) stop();
      this.#others.delete(limiter);
    };
  }

  get #isOff(): boolean {
    return (this.#config?.sinks.length ?? 0) === 0;
  }

  /** Tries to send what waits, for a moment, and ends. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of [...this.#stopListening, this.#stopTimer]) stop();
    this.#stopProbe?.();
    this.#stopResend?.();
    await Promise.all(this.#deliveries.map((delivery) => delivery.close(FLUSH_MS)));
  }

  #deliver(sink: ReturnType<typeof toSink>): Delivery {
    const { log, settings = RETRY_DEFAULTS } = this.#options;
    const transport = new Transport(this.#config?.allowInsecure ?? false, this.#clock);
    return new Delivery({ sink, transport, settings, clock: this.#clock, log });
  }

  #listen(): void {
    for (const stop of [...this.#stopListening, ...[...this.#others.values()].flat()]) stop();
    const hear = (limiter: Limiter) => (this.#isOff ? [] : this.#hear(limiter));
    this.#stopListening = [...this.#limiters.values()].flatMap(hear);
    for (const limiter of this.#others.keys()) this.#others.set(limiter, hear(limiter));
    this.#missed.clear();
    // Who was not heard may have recovered, and new limiters know of no failure: if one is not over, a probe finds it.
    for (const { kind, target } of this.#conditions.active()) {
      if (kind !== 'breaker.open') this.found({ raise: undefined, clear: [keyOf(kind, target)] });
    }
    this.#advance();
  }

  #hear(limiter: Limiter): readonly (() => void)[] {
    return [
      limiter.on('degraded', (failure) => this.#failed(failure)),
      limiter.on('storeError', (failure) => this.#failed(failure)),
      limiter.on('config', (failure) => this.#failed(failure)),
      limiter.on('recovered', ({ policy, node }) => {
        if (this.#missed.remove(policy, node)) this.found(onStoreAnswer(policy));
      }),
      limiter.on('breaker', (event) => this.found(onBreaker(event))),
    ];
  }

  #failed({ policy, node, degraded }: StoreFailure): void {
    this.#missed.add(policy, node);
    this.found(onStoreFailure(policy, degraded));
  }

  /** Runs inside decisions: it only notes what is new. Workers tell the first process what they found. */
  found({ raise, clear }: Findings): void {
    this.#options.forward?.({ raise, clear });
    const nowMs = this.#clock.nowMs();
    const isRaised = raise !== undefined && this.#conditions.raise(raise, nowMs);
    const cleared = clear.filter((key) => this.#conditions.clear(key, nowMs));
    if (isRaised || cleared.length > 0) this.#advance();
  }

  #advance(): void {
    if (this.#isClosed) return;
    const nowMs = this.#clock.nowMs();
    for (const alert of this.#conditions.advance(nowMs)) this.#tell(alert);
    this.#stopTimer();
    const dueMs = this.#conditions.nextDueMs();
    const delayMs = Math.min(TIMER_MAX_MS, Math.max(1, (dueMs ?? nowMs) - nowMs));
    this.#stopTimer = dueMs === undefined ? () => undefined : this.#clock.startTimer(delayMs, () => this.#advance());
    if (this.#conditions.active().length > 0) this.#stopProbe ??= this.#probeLater();
    if (this.#conditions.firing().length > 0) this.#resendLater();
  }

  #tell(alert: Alert): void {
    const message = { id: `msg_${randomUUID()}`, alert, instance: this.#options.instance };
    for (const delivery of this.#deliveries) delivery.offer(message);
  }

  #probeLater(): () => void {
    return this.#clock.startTimer(PROBE_EVERY_MS, () => {
      this.#stopProbe = undefined;
      const active = this.#conditions.active();
      if (active.length === 0 || this.#isOff) return;
      const others = [...this.#others.keys()].map((limiter) => [limiter.policy, limiter] as const);
      this.#probe.ask(new Map([...others, ...this.#limiters]), active);
      this.#stopProbe = this.#probeLater();
    });
  }

  /** Sends what is still on once more to the sinks that want it. */
  #resendLater(): void {
    const waits = this.#deliveries.flatMap(({ sink }) => sink.resendEveryMs ?? []);
    if (this.#stopResend !== undefined || waits.length === 0) return;
    this.#stopResend = this.#clock.startTimer(Math.min(...waits), () => {
      this.#stopResend = undefined;
      const firing = this.#conditions.firing();
      for (const delivery of this.#deliveries.filter(({ sink }) => sink.resendEveryMs !== undefined)) {
        for (const alert of firing.filter(({ key }) => !delivery.has(key))) {
          delivery.offer({ id: `msg_${randomUUID()}`, alert, instance: this.#options.instance });
        }
      }
      if (firing.length > 0) this.#resendLater();
    });
  }
}
