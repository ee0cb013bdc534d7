import cluster from 'node:cluster';
import { Audit } from '../admin/audit.js';
import { Alerts } from '../alerts/alerts.js';
import { type App, instanceOf } from '../app.js';
import type { ServerConfig } from '../config/config.js';
import type { Log } from '../log.js';
import { createMetrics } from '../metrics/metrics.js';
import { nowMs, repeat } from '../time.js';
import { Holders } from './alert-facts.js';
import { Collector } from './collector.js';
import { Members } from './members.js';
import type { Told } from './messages.js';
import { Once } from './once.js';
import { rollOut } from './rollout.js';
import { Tally } from './tally.js';
import type { Answered, Asked, Question } from './team.js';

/** A text of the configuration file that was found good. */
export interface Content {
  readonly text: string;
  readonly config: ServerConfig;
}

export interface PrimaryOptions {
  readonly first: Content;
  readonly count: number;
  readonly log: Log;
  readonly writeAccess: (lines: string) => void;
}

/** Several workers, which look like one server from outside. */
export interface WorkersApp extends App {
  /** Puts a configuration in force at all workers or at none; {@link App.apply} then says which. */
  offer(content: Content): Promise<void>;
  /** Calls back when no worker is left, and none can be started. */
  onFailure(tell: (reason: string) => void): void;
}

/** Workers that cannot start, or that do not end. */
export class WorkersError extends Error {
  override readonly name: string = 'WorkersError';
}

/** Time that a worker has to put a configuration in force. One that hangs follows when it goes on. */
const APPLY_LIMIT_MS = 5000;
/** What is not the drain itself: closing the store, sending alerts, and so on. */
const ENDING_MS = 10_000;
const ENDED_MS = 1000;

/** Starts the workers; rejects with the first one's error when they cannot start. */
export async function startWorkers(options: PrimaryOptions): Promise<WorkersApp> {
  if (!cluster.isPrimary) {
    throw new WorkersError('workers: this process is itself a worker of another program: set workers: 1');
  }
  const primary = new Primary(options);
  return primary.start();
}

/** The first process: it serves nobody, and does for the workers what only one may do. */
class Primary {
  readonly #log: Log;
  readonly #writeAccess: (lines: string) => void;
  readonly #once: Once = new Once();
  readonly #holders: Holders = new Holders();
  readonly #answers: Collector<Answered> = new Collector();
  readonly #applied: Collector<{ readonly error: string | undefined }> = new Collector(APPLY_LIMIT_MS);
  readonly #metrics = createMetrics();
  readonly #tally: Tally;
  readonly #audit: Audit;
  readonly #alerts: Alerts;
  readonly #members: Members;
  #current: Content;
  #fault: string | undefined;
  #tellFailure: (reason: string) => void = () => undefined;

  constructor({ first, count, log, writeAccess }: PrimaryOptions) {
    this.#current = first;
    this.#log = log;
    this.#writeAccess = writeAccess;
    this.#audit = new Audit(log);
    this.#alerts = new Alerts({ config: first.config.alerts, instance: instanceOf(first.config), log });
    this.#members = new Members({
      count,
      log,
      text: () => this.#current.text,
      onMessage: (from, message) => (this.#heard[message.kind] as (from: number, message: Told) => void)(from, message),
      onReady: (id, startedWith) => {
        if (startedWith !== this.#current.text) void this.#catchUp(id);
      },
      onLeft: (id) => this.#left(id),
      onHopeless: (reason) => this.#tellFailure(reason),
    });
    this.#tally = new Tally(this.#metrics, () => this.#members.ready.length);
  }

  async start(): Promise<WorkersApp> {
    const addresses = await this.#members.start().catch(async (error: unknown) => {
      await this.#close();
      throw new WorkersError(error instanceof Error ? error.message : String(error));
    });
    return {
      ...addresses,
      offer: (content) => this.#offer(content),
      apply: () => {
        if (this.#fault !== undefined) throw new Error(this.#fault);
      },
      reloaded: (isGood) => this.#metrics.reloaded('configuration', isGood),
      onFailure: (tell) => {
        this.#tellFailure = tell;
      },
      stop: () => this.#stop(),
    };
  }

  async #offer(content: Content): Promise<void> {
    const texts = { wanted: content.text, old: this.#current.text };
    const workers = this.#members.ready;
    this.#fault = await rollOut(workers, texts, (worker, text) => this.#apply(worker, text));
    if (this.#fault !== undefined) return;
    this.#current = content;
    for (const id of this.#members.ready) if (!workers.includes(id)) void this.#catchUp(id);
    this.#alerts.apply(content.config.alerts);
  }

  /** A worker that was starting meanwhile; one that cannot follow the others is replaced. */
  async #catchUp(worker: number): Promise<void> {
    const error = await this.#apply(worker, this.#current.text);
    if (error !== undefined) this.#outOfStep(worker, error);
  }

  #outOfStep(worker: number, error: string): void {
    this.#log.error('a worker cannot follow the others and is replaced', { error });
    this.#members.kill(worker);
  }

  async #apply(worker: number, text: string): Promise<string | undefined> {
    const answers = await this.#applied.ask([worker], (to, id) => this.#members.send(to, { kind: 'apply', id, text }));
    const answer = answers.get(worker);
    if (answer === undefined) this.#log.warn('a worker did not take the configuration in time', { worker });
    return answer?.error;
  }

  readonly #heard: { readonly [K in Told['kind']]: (from: number, message: Extract<Told, { kind: K }>) => void } = {
    log: (from, message) => this.#say(from, message),
    lines: (_, { lines }) => this.#writeAccess(lines),
    alert: (from, { findings }) => this.#alerts.found(this.#holders.told(from, findings)),
    audit: (_, { operation }) => this.#audit.record(operation),
    reloaded: (from, { what, isGood }) => {
      // Every worker reads the files; they are counted once.
      if (this.#once.isNew(from, `${what} ${isGood}`, nowMs())) this.#metrics.reloaded(what, isGood);
    },
    applied: (from, { id, error }) => {
      const isInTime = this.#applied.answered(from, id, { error });
      if (!isInTime && error !== undefined) this.#outOfStep(from, error);
    },
    answer: (from, { id, answer }) => void this.#answers.answered(from, id, answer),
    ask: (from, { id, what, asked }) => {
      void this.#collect(what, asked).then((answers) => this.#members.send(from, { kind: 'answers', id, answers }));
    },
  };

  #say(from: number, { level, message, fields }: Extract<Told, { kind: 'log' }>): void {
    if (this.#once.isNew(from, JSON.stringify([level, message, fields]), nowMs())) this.#log[level](message, fields);
  }

  /** What the workers answer, and this process. */
  async #collect(what: Question, asked: Asked): Promise<readonly Answered[]> {
    if (what === 'audit') return [this.#audit.latest(asked as Asked<'audit'>)];
    const answers = await this.#answers.ask(this.#members.ready, (to, id) =>
      this.#members.send(to, { kind: 'ask', id, what, asked }),
    );
    return what === 'metrics' ? [this.#tally.sum(answers as Parameters<Tally['sum']>[0])] : [...answers.values()];
  }

  #left(id: number): void {
    this.#alerts.found(this.#holders.left(id));
    this.#answers.left(id);
    this.#applied.left(id);
    this.#tally.left(id);
  }

  async #stop(): Promise<void> {
    const { gateway, api, envoy } = this.#current.config;
    const timesMs = [gateway, envoy].map((door) => (door?.drainDelay ?? 0) + (door?.drainTime ?? 0));
    const drainMs = Math.max(...timesMs, api?.drainDelay ?? 0);
    const isClean = await this.#members.stop(drainMs + ENDING_MS);
    await this.#close();
    // A connection that no worker took any more would keep this process alive.
    repeat(ENDED_MS, () => process.exit());
    if (!isClean) throw new WorkersError('workers did not end in time and were ended by force');
  }

  async #close(): Promise<void> {
    await this.#alerts.close();
    this.#metrics.close();
  }
}
