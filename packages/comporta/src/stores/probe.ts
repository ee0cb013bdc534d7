import { compose, type Script } from '../algorithms/compose.js';
import {
  concurrency,
  fixedWindow,
  quota,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  withIds,
} from '../algorithms/limits.js';
import { sha1Hex } from '../core/hash.js';
import type { RedisNode } from '../redis/client.js';
import { fixFor, messageOf } from '../redis/explain.js';
import { type Finding, failure, ok } from '../redis/finding.js';
import { slotOf } from '../redis/slot.js';
import { escapeSubject, keysOf, refundKey } from './keyspace.js';
import type { RedisParts } from './redis-parts.js';
import { SentArguments } from './server-time.js';
import type { Plan, PolicyStore, Store } from './store.js';

/** One limit of each algorithm, and every gate, so that every line of every script is within reach. */
const PLAN: Plan = {
  policy: 'self-test',
  limits: withIds([
    tokenBucket({ capacity: 9, refill: 1, every: '1m' }),
    slidingWindow({ limit: 9, window: '1m' }),
    slidingWindowCounter({ limit: 9, window: '1d' }),
    fixedWindow({ limit: 9, window: '1d' }),
    quota({ limit: 9, per: 'month' }),
    concurrency({ limit: 9 }),
  ]),
  blocks: { refusals: 9, withinMs: 1000, forMs: 1000 },
  haveTerms: true,
  isUncounted: true,
};

export const PROBE_LIMITS: Plan['limits'] = PLAN.limits;

const DECISION_ID = 'first';
const RESERVATION_ID = 'second';

/** More names than this are needed for a node only when it serves next to no slots. */
const NAMES_MAX = 20_000;

/** A subject of ours that lives on a node, new for each run; `undefined` when the node serves nothing. */
function subjectOn(policy: PolicyStore, node: RedisNode, run: string): string | undefined {
  for (let i = 0; i < NAMES_MAX; i++) {
    const subject = `self-test-${run}-${i}`;
    if (policy.shardOf?.(subject) === node.address) return subject;
  }
  return undefined;
}

/** The first key of the probe on a node. */
export function probeKey(store: Store, { keyPrefix, subjectSecret }: RedisParts, node: RedisNode): string | undefined {
  const subject = subjectOn(store.bind(PLAN), node, 'key');
  return subject === undefined ? undefined : keysOf(PLAN, keyPrefix)(escapeSubject(subject, subjectSecret))[0];
}

/**
 * Runs every operation on a node: with the scripts as they are, and with one that the server cannot
 * know, so that both ways to run a script are tried without emptying the server's cache.
 */
export async function checkScripts(store: Store, parts: RedisParts, node: RedisNode): Promise<Finding[]> {
  const run = Math.random().toString(36).slice(2, 10);
  const policy = store.bind(PLAN);
  const subject = subjectOn(policy, node, run);
  if (subject === undefined) return [];
  try {
    const atUs = await operate(policy, subject);
    const script = unknownScript(run);
    for (const _ of ['EVAL', 'EVALSHA']) await consumeBy(script, parts, subject, atUs);
    return [ok('scripts', `${PLAN.limits.length} algorithms decide, give back and reset, by EVAL and by EVALSHA`)];
  } catch (error) {
    const message = messageOf(error);
    return [failure('scripts', message, fixFor(message))];
  } finally {
    await remove(parts, subject).catch(() => undefined);
  }
}

/** Small and large costs, a refusal and refunds: each is another way through the scripts. Gives the server's time. */
async function operate(policy: PolicyStore, subject: string): Promise<number> {
  const first = await policy.consume(subject, 3);
  await policy.consume(subject, 4);
  await policy.consume(subject, 6);
  await policy.peek(subject, 5);
  await policy.force?.(
    subject,
    PLAN.limits.map(() => 1),
  );
  await policy.refund({ subject, decisionId: DECISION_ID, atUs: first.atUs, amount: 1 });
  await act(policy, subject);
  await policy.reset(subject);
  return first.atUs;
}

/** What can be done to a subject beside deciding; the terms and the block are taken away again. */
async function act(policy: PolicyStore, subject: string): Promise<void> {
  if (policy.act === undefined) return;
  const [id, holdMs] = [RESERVATION_ID, 1000];
  const { atUs } = await policy.act({ kind: 'reserve', subject, cost: 1, id, holdMs });
  await policy.act({ kind: 'renew', subject, cost: 0, id });
  await policy.act({ kind: 'settle', subject, cost: 0, id, holdMs, reserved: 1, atUs, isNoted: true });
  for (const kind of ['charge', 'reward'] as const) await policy.act({ kind, subject, cost: 1 });
  for (const cost of [holdMs, 0]) {
    await policy.act({ kind: 'block', subject, cost });
    await policy.act({ kind: 'setTerms', subject, cost, terms: 'o{}' });
  }
}

function unknownScript(run: string): Script {
  const text = `${compose('consume', PLAN.limits).text}-- ${run}\n`;
  return { text, sha: sha1Hex(text) };
}

function consumeBy(script: Script, parts: RedisParts, subject: string, atUs: number): Promise<void> {
  const escaped = escapeSubject(subject, parts.subjectSecret);
  const args = ['', '1', ...new SentArguments(PLAN.limits).at(atUs / 1000)];
  return runScript(script, parts, escaped, keysOf(PLAN, parts.keyPrefix)(escaped), args);
}

/** A reset leaves the marks of what was given back to their TTL; nothing of a probe shall stay. */
function remove(parts: RedisParts, subject: string): Promise<void> {
  const escaped = escapeSubject(subject, parts.subjectSecret);
  const keys = keysOf(PLAN, parts.keyPrefix)(escaped);
  const marks = [DECISION_ID, RESERVATION_ID].map((id) => refundKey(PLAN, parts.keyPrefix, escaped, id));
  return runScript(compose('reset', []), parts, escaped, [...keys, ...marks], []);
}

function runScript(
  script: Script,
  { client, runner }: RedisParts,
  escaped: string,
  keys: readonly string[],
  args: readonly string[],
): Promise<void> {
  const command = ['EVALSHA', script.sha, String(keys.length), ...keys, ...args];
  const slot = client.isCluster ? slotOf(escaped) : 0;
  return runner.run({ script, slot, command, waiter: undefined }, () => undefined);
}
