import type { Part } from '../algorithms/algorithm.js';
import { compose, type Script } from '../algorithms/compose.js';
import { ComportaError, show } from '../core/errors.js';
import { type Clock, systemClock } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import type { RedisClient } from '../redis/client.js';
import { connectUrl } from '../redis/connect.js';
import { checkConnectOptions, type NatMap, type TlsOptions } from '../redis/connect-options.js';
import { detect, type SupportedClient } from '../redis/detect.js';
import { ScriptRunner } from '../redis/run.js';
import { slotOf } from '../redis/slot.js';
import { escapeSubject, KEY_PREFIX, keysOf, refundKey } from './keyspace.js';
import { PRESENCE_ARGUMENTS, PRESENCE_SCRIPT, PRESENCE_TAG, Presence } from './presence.js';
import { keepParts } from './redis-parts.js';
import { type Charge, type Plan, type PolicyStore, refundTtlMs, type Store, type StoreReply } from './store.js';

export interface RedisStoreOptions {
  /** First part of every key, before a colon: 1 to 32 of `A-Z a-z 0-9 _ . -`; `cmp1` by default. */
  readonly keyPrefix?: string;
  /** Stores an HMAC-SHA-256 of each subject instead of the subject, so that Redis holds no personal data. */
  readonly subjectSecret?: string;
  /** Told once, at creation, of each client setting that breaks a promise; `console.warn` by default. */
  readonly onWarning?: (message: string) => void;
  /** For `rediss` URLs. */
  readonly tls?: TlsOptions;
  /** For cluster and Sentinel URLs, when servers name addresses that cannot be reached from here. */
  readonly natMap?: NatMap;
  /** Login at the Sentinels of a `redis-sentinel` URL. */
  readonly sentinel?: { readonly username?: string; readonly password?: string };
  readonly clock?: Clock;
}

/**
 * Keeps state in Redis 7+ or Valkey 8+, single or Cluster, shared by every process that uses it.
 * Takes a store URL or a client of yours (ioredis, node-redis, iovalkey; single or Cluster), which
 * stays yours to close. Connects in the background.
 */
export function redisStore(source: string | SupportedClient, options: RedisStoreOptions = {}): Store {
  if (typeof options !== 'object' || options === null) {
    throw new ComportaError('ERR_OPTION', `options: expected { keyPrefix, tls, ... }, got ${show(options)}`, 'options');
  }
  const {
    clock = systemClock,
    keyPrefix = KEY_PREFIX,
    subjectSecret,
    onWarning = (text) => console.warn(`comporta: ${text}`),
  } = options;
  if (!/^[A-Za-z0-9_.-]{1,32}$/.test(keyPrefix)) {
    throw new ComportaError('ERR_OPTION', 'keyPrefix: expected 1 to 32 characters of A-Z a-z 0-9 _ . -', 'keyPrefix');
  }
  const client = typeof source === 'string' ? connectUrl(source, clock, options) : detect(source);
  if (typeof source !== 'string') checkConnectOptions(options, undefined);
  for (const warning of client.warnings) onWarning(warning);
  const runner = new ScriptRunner(client, clock);
  const presence = new Presence(() => beat(runner, client.isCluster, keyPrefix));
  const shared: Shared = { runner, presence, isCluster: client.isCluster, prefix: keyPrefix, secret: subjectSecret };
  const store: Store = {
    kind: 'redis',
    bind: (plan) => new RedisPolicy(plan, shared),
    ping: () => ping(client),
    ready: (timeoutMs = READY_MS) => ready(client, timeoutMs, clock),
    warn: onWarning,
    close: () => (typeof source === 'string' ? client.close() : Promise.resolve()),
  };
  return keepParts(store, { client, runner, clock, keyPrefix, subjectSecret });
}

const READY_MS = 1000;
const READY_EVERY_MS = 10;

/** Asks again and again until the server answers or the time is over; then rejects with the last reason. */
function ready(client: RedisClient, timeoutMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let reason: unknown = new StoreError('timeout', `no answer within ${timeoutMs} ms`);
    const stopTimer = clock.startTimer(timeoutMs, () => {
      isOver = true;
      reject(reason);
    });
    const ask = (): void => {
      if (isOver) return;
      ping(client).then(
        () => {
          stopTimer();
          resolve();
        },
        (error) => {
          reason = error;
          clock.startTimer(READY_EVERY_MS, ask);
        },
      );
    };
    ask();
  });
}

async function ping(client: RedisClient): Promise<void> {
  const node = client.nodeOf(0);
  if (node?.isReady() !== true) throw new StoreError('unavailable', client.lastError() ?? 'not connected');
  await node.send(['PING']);
}

/** Tells the store that this process is alive; how many are, and which of them this is. */
function beat(runner: ScriptRunner, isCluster: boolean, prefix: string): Promise<Part> {
  const command = ['EVALSHA', PRESENCE_SCRIPT.sha, '1', `${prefix}:{${PRESENCE_TAG}}`, ...PRESENCE_ARGUMENTS];
  const slot = isCluster ? slotOf(PRESENCE_TAG) : 0;
  return runner.run({ script: PRESENCE_SCRIPT, slot, command, waiter: undefined }, (reply) => {
    const [processes, rank] = reply as unknown[];
    return { processes: toNumber(processes), rank: toNumber(rank) };
  });
}

/** What all policies of one store have in common. */
interface Shared {
  readonly runner: ScriptRunner;
  readonly presence: Presence;
  readonly isCluster: boolean;
  readonly prefix: string;
  readonly secret: string | undefined;
}

class RedisPolicy implements PolicyStore {
  readonly #plan: Plan;
  readonly #shared: Shared;
  readonly #keysOf: (escaped: string) => string[];
  readonly #arguments: readonly string[];
  readonly #consume: Script;
  readonly #peek: Script;
  readonly #refundTtlMs: string;
  readonly #decode: (reply: unknown) => StoreReply;
  #lastSubject = '';
  #lastEscaped = '';

  constructor(plan: Plan, shared: Shared) {
    this.#plan = plan;
    this.#shared = shared;
    this.#keysOf = keysOf(plan, shared.prefix);
    this.#arguments = plan.limits.flatMap((limit) => limit.args.map(String));
    this.#consume = compose('consume', plan.limits);
    this.#peek = compose('peek', plan.limits);
    this.#decode = (reply) => {
      const decoded = decode(reply, plan.limits.length);
      shared.presence.touch(decoded.atUs / 1000);
      return decoded;
    };
    this.#refundTtlMs = String(refundTtlMs(plan));
  }

  consume(subject: string, cost: number, waiter?: Waiter): Promise<StoreReply> {
    return this.#decide(this.#consume, subject, cost, waiter);
  }

  peek(subject: string, cost: number, waiter?: Waiter): Promise<StoreReply> {
    return this.#decide(this.#peek, subject, cost, waiter);
  }

  refund({ subject, decisionId, atUs, amount }: Charge, waiter?: Waiter): Promise<number> {
    const escaped = this.#escape(subject);
    const keys = [...this.#keysOf(escaped), refundKey(this.#plan, this.#shared.prefix, escaped, decisionId)];
    const args = ['', String(amount), String(atUs), this.#refundTtlMs, ...this.#arguments];
    return this.#run(compose('refund', this.#plan.limits), escaped, [...keys, ...args], keys.length, waiter, toNumber);
  }

  force(subject: string, amounts: readonly number[], waiter?: Waiter): Promise<number> {
    const escaped = this.#escape(subject);
    const keys = this.#keysOf(escaped);
    const parts = [...keys, '', '0', ...this.#arguments, ...amounts.map(String)];
    return this.#run(compose('force', this.#plan.limits), escaped, parts, keys.length, waiter, toNumber);
  }

  reset(subject: string, waiter?: Waiter): Promise<number> {
    const escaped = this.#escape(subject);
    const keys = this.#keysOf(escaped);
    return this.#run(compose('reset', []), escaped, keys, keys.length, waiter, toNumber);
  }

  shardOf(subject: string): string {
    return this.#shared.runner.addressOf(this.#slotOf(this.#escape(subject)));
  }

  part(): Part {
    return this.#shared.presence.part;
  }

  suspect(subject: string): void {
    this.#shared.runner.suspect(this.#slotOf(this.#escape(subject)));
  }

  /** One decision asks several times for the same subject. */
  #escape(subject: string): string {
    if (subject !== this.#lastSubject) {
      this.#lastEscaped = escapeSubject(subject, this.#shared.secret);
      this.#lastSubject = subject;
    }
    return this.#lastEscaped;
  }

  #slotOf(escaped: string): number {
    return this.#shared.isCluster ? slotOf(escaped) : 0;
  }

  #decide(script: Script, subject: string, cost: number, waiter: Waiter | undefined): Promise<StoreReply> {
    const escaped = this.#escape(subject);
    const parts = this.#keysOf(escaped);
    const keyCount = parts.length;
    parts.push('', String(cost), ...this.#arguments);
    return this.#run(script, escaped, parts, keyCount, waiter, this.#decode);
  }

  #run<T>(
    script: Script,
    escaped: string,
    parts: readonly string[],
    keyCount: number,
    waiter: Waiter | undefined,
    decode: (reply: unknown) => T,
  ): Promise<T> {
    const slot = this.#slotOf(escaped);
    const command = ['EVALSHA', script.sha, String(keyCount), ...parts];
    return this.#shared.runner.run({ script, slot, command, waiter }, decode);
  }
}

/** A script's reply: the server's time, then four numbers per limit. Anything else is a fault of the client. */
function decode(reply: unknown, limits: number): StoreReply {
  if (!Array.isArray(reply) || reply.length !== 1 + 4 * limits) throw unexpected(reply);
  const [atUs, ...numbers] = reply as unknown[];
  return { atUs: toNumber(atUs), numbers: numbers.map(toNumber) };
}

function toNumber(value: unknown): number {
  const number = typeof value === 'number' ? value : Number(value);
  if (!Number.isSafeInteger(number)) throw unexpected(value);
  return number;
}

function unexpected(reply: unknown): StoreError {
  return new StoreError(
    'misconfigured',
    `the client returned ${typeof reply} where a script answers integers; does it transform replies?`,
  );
}
