import type { Part } from '../algorithms/algorithm.js';
import { ComportaError, show } from '../core/errors.js';
import { type Clock, systemClock, TIMER_MAX_MS } from '../core/time.js';
import { StoreError } from '../core/waiting.js';
import type { RedisClient, RedisNode } from '../redis/client.js';
import { connectUrl } from '../redis/connect.js';
import { checkConnectOptions, type NatMap, type TlsOptions } from '../redis/connect-options.js';
import { detect, type SupportedClient } from '../redis/detect.js';
import { ScriptRunner } from '../redis/run.js';
import { slotOf } from '../redis/slot.js';
import { KEY_PREFIX } from './keyspace.js';
import { PRESENCE_ARGUMENTS, PRESENCE_SCRIPT, PRESENCE_TAG, Presence } from './presence.js';
import { keepParts } from './redis-parts.js';
import { RedisPolicy, type Shared } from './redis-policy.js';
import { toNumber } from './redis-replies.js';
import { ServerTime } from './server-time.js';
import type { Store } from './store.js';

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
  const presence = new Presence((policies) => beat(runner, client.isCluster, keyPrefix, policies), onWarning);
  const shared: Shared = {
    runner,
    presence,
    time: new ServerTime(clock),
    isCluster: client.isCluster,
    prefix: keyPrefix,
    secret: subjectSecret,
  };
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
const SLOTS = 16_384;

/** Asks again and again until the server answers or the time is over; then rejects with the last reason. */
function ready(client: RedisClient, timeoutMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let reason: unknown = new StoreError('timeout', `no answer within ${timeoutMs} ms`);
    const stopTimer = clock.startTimer(Math.min(timeoutMs, TIMER_MAX_MS), () => {
      isOver = true;
      reject(reason);
    });
    const ask = (): void => {
      if (isOver) return;
      pingAll(client).then(
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

/** Connections to every server that holds keys. */
function nodesOf(client: RedisClient): readonly RedisNode[] {
  const nodes = new Set<RedisNode>();
  for (let slot = 0; slot < (client.isCluster ? SLOTS : 1); slot++) {
    const node = client.nodeOf(slot);
    if (node !== undefined) nodes.add(node);
  }
  return [...nodes];
}

async function ping(client: RedisClient): Promise<void> {
  const nodes = nodesOf(client).filter((each) => each.isReady());
  if (nodes.length === 0) throw new StoreError('unavailable', client.lastError() ?? 'not connected');
  // Any: one that is frozen says nothing about the others.
  await Promise.any(nodes.map((node) => node.send(['PING']))).catch(({ errors }: AggregateError) => {
    throw errors[0];
  });
}

/** As {@link ping}, of every server. */
async function pingAll(client: RedisClient): Promise<void> {
  const nodes = nodesOf(client);
  // All are asked, since asking begins a connection.
  const away = nodes.filter((node) => !node.isReady());
  if (nodes.length === 0 || away.length > 0) {
    const which = away.map(({ address }) => address).join(', ');
    throw new StoreError(
      'unavailable',
      `no connection to ${which || 'any server'}: ${client.lastError() ?? 'still connecting'}`,
    );
  }
  await Promise.all(nodes.map((node) => node.send(['PING'])));
}

/** Tells the store which policies this process uses; of each how many processes do, and which of them this is. */
function beat(
  runner: ScriptRunner,
  isCluster: boolean,
  prefix: string,
  policies: readonly string[],
): Promise<readonly Part[]> {
  const keys = policies.map((policy) => `${prefix}:{${PRESENCE_TAG}}:${policy}`);
  const command = ['EVALSHA', PRESENCE_SCRIPT.sha, String(keys.length), ...keys, ...PRESENCE_ARGUMENTS];
  const slot = isCluster ? slotOf(PRESENCE_TAG) : 0;
  return runner.run({ script: PRESENCE_SCRIPT, slot, command, waiter: undefined }, (reply) => {
    const numbers = (reply as unknown[]).map(toNumber);
    return policies.map((_, i) => ({ processes: numbers[2 * i] as number, rank: numbers[2 * i + 1] as number }));
  });
}
