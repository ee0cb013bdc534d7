import type { Part } from '../algorithms/algorithm.js';
import { ComportaError, show } from '../core/errors.js';
import { checkOptionNames } from '../core/option-names.js';
import { processId } from '../core/process-id.js';
import { type Clock, systemClock } from '../core/time.js';
import { StoreError } from '../core/waiting.js';
import type { RedisClient, RedisNode } from '../redis/client.js';
import { ScriptRunner } from '../redis/run.js';
import { SLOTS, slotOf } from '../redis/slot.js';
import { KEY_PREFIX } from './keyspace.js';
import { PRESENCE_TAG, Presence } from './presence.js';
import { PRESENCE_SCRIPT } from './presence-script.js';
import { READY_MS, untilAnswered } from './ready.js';
import { keepParts } from './redis-parts.js';
import { RedisPolicy, type Shared } from './redis-policy.js';
import { toNumber } from './redis-replies.js';
import { ServerTime } from './server-time.js';
import type { Store } from './store.js';

/** Settings of every store on Redis, whatever it is reached by. */
export interface KeyOptions {
  /** First part of every key, before a colon: 1 to 32 of `A-Z a-z 0-9 _ . -`; `cmp1` by default. */
  readonly keyPrefix?: string;
  /** Stores an HMAC-SHA-256 of each subject instead of the subject, so that Redis holds no personal data. */
  readonly subjectSecret?: string;
  /** Told once, at creation, of each client setting that breaks a promise; `console.warn` by default. */
  readonly onWarning?: (message: string) => void;
  readonly clock?: Clock;
  /** Sends decisions that are asked for while others are in flight together, in one call; true by default. */
  readonly batch?: boolean;
  /**
   * How many processes use the store at least, 1 to 100,000, and which of them this is, from 0: for workers of one
   * server. More are counted; when the store is away limits are never shared among fewer.
   */
  readonly part?: Part;
}

const PROCESSES_MAX = 100_000;

/** The names of {@link KeyOptions}. */
const KEY_OPTIONS: readonly string[] = ['keyPrefix', 'subjectSecret', 'onWarning', 'clock', 'batch', 'part'];

/** Throws `ERR_OPTION` for options that cannot be meant; `more` are those that the store has beside. */
export function checkKeyOptions(options: KeyOptions, more: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new ComportaError('ERR_OPTION', `options: expected { keyPrefix, tls, ... }, got ${show(options)}`, 'options');
  }
  checkOptionNames(options, [...KEY_OPTIONS, ...more]);
  const { keyPrefix = KEY_PREFIX, batch = true, part } = options;
  if (!/^[A-Za-z0-9_.-]{1,32}$/.test(keyPrefix)) {
    throw new ComportaError('ERR_OPTION', 'keyPrefix: expected 1 to 32 characters of A-Z a-z 0-9 _ . -', 'keyPrefix');
  }
  if (typeof batch !== 'boolean') {
    throw new ComportaError('ERR_OPTION', `batch: expected true or false, got ${show(batch)}`, 'batch');
  }
  if (part !== undefined && !isPart(part)) {
    const expected = '{ processes, rank }, whole numbers with 0 <= rank < processes';
    throw new ComportaError('ERR_OPTION', `part: expected ${expected}, got ${show(part)}`, 'part');
  }
}

function isPart(given: unknown): given is Part {
  const { processes, rank } = (given ?? {}) as Partial<Record<keyof Part, number>>;
  const isRange = Number.isSafeInteger(processes) && Number.isSafeInteger(rank);
  return isRange && Number(rank) >= 0 && Number(rank) < Number(processes) && Number(processes) <= PROCESSES_MAX;
}

/** A store on a client. `close` ends what the store's maker opened for it. */
export function openRedis(client: RedisClient, options: KeyOptions, close: () => Promise<void>): Store {
  const {
    clock = systemClock,
    keyPrefix = KEY_PREFIX,
    subjectSecret,
    batch = true,
    part,
    onWarning = (text) => console.warn(`comporta: ${text}`),
  } = options;
  for (const warning of client.warnings) onWarning(warning);
  const runner = new ScriptRunner(client, clock);
  const place = { isCluster: client.isCluster, prefix: keyPrefix };
  const presence = new Presence((policies) => beat(runner, place, processId(), policies), onWarning, part);
  // Where requests are kept apart none may wait for what another began.
  const areBatched = batch && client.joins !== false;
  const shared: Shared = { ...place, areBatched, runner, presence, time: new ServerTime(clock), secret: subjectSecret };
  const store: Store = {
    kind: 'redis',
    bind: (plan) => new RedisPolicy(plan, shared),
    ping: () => ping(client),
    ready: (timeoutMs = READY_MS) => untilAnswered(() => pingAll(client), timeoutMs, clock),
    beat: (who, policies) => beat(runner, place, who, policies),
    warn: onWarning,
    close,
  };
  return keepParts(store, { client, runner, clock, keyPrefix, subjectSecret });
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

/** Tells the store which policies a process uses; of each how many processes do, and which of them it is. */
function beat(
  runner: ScriptRunner,
  { isCluster, prefix }: Pick<Shared, 'isCluster' | 'prefix'>,
  who: string,
  policies: readonly string[],
): Promise<readonly Part[]> {
  const keys = policies.map((policy) => `${prefix}:{${PRESENCE_TAG}}:${policy}`);
  const command = ['EVALSHA', PRESENCE_SCRIPT.sha, String(keys.length), ...keys, who];
  const slot = isCluster ? slotOf(PRESENCE_TAG) : 0;
  return runner.run({ script: PRESENCE_SCRIPT, slot, command, waiter: undefined }, (reply) => {
    const numbers = (reply as unknown[]).map(toNumber);
    return policies.map((_, i) => ({ processes: numbers[2 * i] as number, rank: numbers[2 * i + 1] as number }));
  });
}
