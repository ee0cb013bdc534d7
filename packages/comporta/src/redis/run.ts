import type { Script } from '../algorithms/compose.js';
import type { Clock } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import type { RedisClient, RedisNode } from './client.js';
import { type Redirect, redirectOf, toStoreError } from './errors.js';
import { SilenceWatch } from './silence.js';
import { Starting } from './starting.js';

/** One script call. Once the waiter is over nothing more may be sent. */
export interface ScriptCall {
  readonly script: Script;
  readonly slot: number;
  /** `EVALSHA`, the SHA-1, the number of keys, the keys, the arguments. */
  readonly command: readonly string[];
  readonly waiter: Waiter | undefined;
}

const ATTEMPTS_MAX = 6;
/** A slot that moves answers TRYAGAIN while some of a subject's keys are here and some there. */
const PAUSES_MAX = 8;
const TRY_AGAIN_DELAY_MS = 4;
const REFRESH_INTERVAL_MS = 200;

const ONE_NODE = 'this is a node of a cluster, used as a single server; use redis-cluster://, or a Cluster client';

/**
 * Runs scripts so that each takes effect at most once: a call is repeated only after an answer that
 * proves that nothing ran, only while somebody waits, and never after a lost connection.
 */
export class ScriptRunner {
  readonly #client: RedisClient;
  readonly #clock: Clock;
  /** Scripts being loaded, by node and SHA-1, so that a flushed cache costs one upload, not one per caller. */
  readonly #loading: Map<string, Promise<unknown>> = new Map();
  readonly #silence: SilenceWatch = new SilenceWatch();
  #refreshedAtUs = 0;
  readonly #starting: Starting;

  constructor(client: RedisClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.#starting = new Starting(clock);
  }

  /** What `decode` makes of the reply; rejects with a {@link StoreError}. */
  run<T>(given: ScriptCall, decode: (reply: unknown) => T): Promise<T> {
    const call = this.#client.dialect === undefined ? given : this.#translated(given);
    const node = this.#client.nodeOf(call.slot);
    return node?.isReady() === true ? this.#send(node, call, decode) : this.#sendSoon(call, decode);
  }

  async #sendSoon<T>(call: ScriptCall, decode: (reply: unknown) => T): Promise<T> {
    const find = (): RedisNode | undefined => this.#client.nodeOf(call.slot);
    const node = await this.#starting.wait(find, () => this.#client.lastError(), call.waiter);
    if (node === undefined) throw this.#notReady(find());
    return this.#send(node, call, decode);
  }

  #send<T>(node: RedisNode, call: ScriptCall, decode: (reply: unknown) => T): Promise<T> {
    this.#silence.sent(node, this.#nowMs(), call.waiter?.timeoutMs);
    this.#starting.met(node);
    return node.send(call.command, call.waiter).then(
      (reply) => {
        this.#silence.answered(node);
        return decode(reply);
      },
      (error) => {
        this.#silence.answered(node);
        return this.#again(error, call, node, 1).then(decode);
      },
    );
  }

  /** `host:port` of the node that serves a slot, as far as known. */
  addressOf(slot: number): string {
    return this.#client.nodeOf(slot)?.address ?? 'unknown';
  }

  /**
   * A call to a slot's node was not answered in time, or it is not asked for that reason. A frozen node
   * keeps its connections and never says MOVED: only the rest of the cluster knows who took over.
   */
  suspect(slot: number): void {
    const node = this.#client.nodeOf(slot);
    this.#refresh(node?.address);
    if (node === undefined) return;
    // Asked so that a connection that is not there begins now, and not with the next call that may go out.
    if (node.isReady()) this.#silence.timedOut(node, this.#nowMs());
    else this.#silence.wasDown(node, this.#nowMs());
  }

  #translated(call: ScriptCall): ScriptCall {
    const script = this.#client.dialect?.(call.script) ?? call.script;
    return { ...call, script, command: ['EVALSHA', script.sha, ...call.command.slice(2)] };
  }

  #nowMs(): number {
    return this.#clock.nowUs() / 1000;
  }

  /** `from` is the node that the slot belongs to, as far as known: never one that was only asked. */
  async #again(error: unknown, call: ScriptCall, from: RedisNode, attempt: number, pauses = 0): Promise<unknown> {
    const message = error instanceof Error ? error.message : '';
    const redirect = redirectOf(message);
    if (redirect === undefined) {
      if (/^(READONLY|CLUSTERDOWN|MASTERDOWN)/.test(message)) this.#refresh(from.address);
      throw toStoreError(error);
    }
    if ('address' in redirect && !this.#client.isCluster)
      throw new StoreError('misconfigured', `${ONE_NODE}: ${message}`);
    if (redirect.kind === 'moved') this.#refresh();
    const isPause = redirect.kind === 'tryAgain';
    if (isPause ? pauses >= PAUSES_MAX : attempt >= ATTEMPTS_MAX) {
      const what = `gave up after ${attempt} redirects and ${pauses} pauses: ${message}`;
      throw new StoreError('unavailable', what, { isUnsent: true, isAnswer: true });
    }
    const node = this.#target(redirect, from);
    try {
      return await this.#repeat(redirect, call, node, attempt);
    } catch (next) {
      const owner = redirect.kind === 'ask' ? from : node;
      // After a pause the slot may be elsewhere: its redirects count anew.
      return this.#again(next, call, owner, isPause ? 1 : attempt + 1, isPause ? pauses + 1 : pauses);
    }
  }

  #target(redirect: Redirect, from: RedisNode): RedisNode {
    if (!('address' in redirect)) return from;
    const node = this.#client.nodeAt(redirect.address);
    if (node?.isReady() !== true) throw this.#notReady(node);
    return node;
  }

  async #repeat(redirect: Redirect, call: ScriptCall, node: RedisNode, attempt: number): Promise<unknown> {
    // Twice unknown: somebody flushes the cache. From then on the text goes with the call.
    if (redirect.kind === 'noScript') return this.#teach(call, node, attempt === 1);
    if (redirect.kind === 'tryAgain') await this.#pause();
    assertWanted(call);
    if (redirect.kind !== 'ask') return node.send(call.command, call.waiter);
    // Both are written in this turn, so nothing comes between them. EVAL, for the target may not know the script.
    node.send(['ASKING']).catch(() => undefined);
    return node.send(withText(call), call.waiter);
  }

  /** EVAL runs the call and caches the script where its key lives, which SCRIPT LOAD cannot promise in a cluster. */
  async #teach(call: ScriptCall, node: RedisNode, mayWait: boolean): Promise<unknown> {
    const name = `${node.address} ${call.script.sha}`;
    const other = mayWait && this.#client.joins !== false ? this.#loading.get(name) : undefined;
    if (other !== undefined) {
      await other;
      assertWanted(call);
      return node.send(call.command, call.waiter);
    }
    assertWanted(call);
    const sent = node.send(withText(call), call.waiter);
    const done = () => void this.#loading.delete(name);
    this.#loading.set(name, sent.then(done, done));
    return sent;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.startTimer(TRY_AGAIN_DELAY_MS, resolve);
    });
  }

  /** At most one new slot map in {@link REFRESH_INTERVAL_MS}, however many calls ask. */
  #refresh(failing?: string): void {
    const nowUs = this.#clock.nowUs();
    if (Math.abs(nowUs - this.#refreshedAtUs) < REFRESH_INTERVAL_MS * 1000) return;
    this.#refreshedAtUs = nowUs;
    this.#client.refresh(failing);
  }

  #notReady(node: RedisNode | undefined): StoreError {
    this.#refresh(node?.address);
    if (node !== undefined) this.#silence.wasDown(node, this.#nowMs());
    const who = node === undefined ? 'no server is known for this key' : `no connection to ${node.address}`;
    const why = this.#client.lastError();
    const isStarting = this.#starting.isFirst(node);
    return new StoreError('unavailable', why === undefined ? who : `${who}: ${why}`, { isUnsent: true, isStarting });
  }
}

const withText = (call: ScriptCall): string[] => ['EVAL', call.script.text, ...call.command.slice(2)];

function assertWanted(call: ScriptCall): void {
  if (call.waiter?.isOver === true)
    throw new StoreError('timeout', 'the time limit ended before the command could be repeated');
}
