import { ComportaError, show } from '../core/errors.js';
import { sha256 } from '../core/hash.js';
import { type Clock, systemClock } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import { Asker } from '../resilience/asker.js';
import { withDeadline } from '../resilience/deadline.js';
import { healthOf, type StoreHealth } from '../resilience/health.js';
import { OPERATIONS_MAX, STORE_PATH, type WireReply, type WireRequest } from '../stores/http-protocol.js';
import type { Store } from '../stores/store.js';
import { type Operation, readOperation } from './operations.js';
import { type BoundPlan, Plans } from './plans.js';
import { BadInput, isDeep, readFields, readList, readWhole, refuseOthers, SHOWN_MAX } from './read.js';
import { type StoreTime, storeTimeOf } from './time-limits.js';

export interface ServeOptions {
  /** What callers must show, one text or several: while one is being replaced both are taken. */
  readonly token: string | readonly string[];
  readonly clock?: Clock;
}

/** A request as every server has it. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  /** `undefined` when it is longer than {@link BODY_MAX_BYTES}. */
  body(): Promise<string | undefined>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const TIMEOUT_MAX_MS = 60_000;

/** Brackets in brackets of a request: more than any that can be meant has. */
const NESTING_MAX = 16;

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Content Too Large',
  500: 'Internal Server Error',
};

/** Answers calls of `httpStore` out of a store. */
export class StoreService {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #health: StoreHealth;
  readonly #plans: Plans;
  readonly #tokens: readonly Uint8Array[];

  /** Throws `ERR_OPTION` for options that cannot be meant. */
  constructor(store: Store, options: ServeOptions) {
    if (typeof store?.bind !== 'function') {
      throw new ComportaError('ERR_OPTION', `serveStore: expected a store, got ${show(store)}`, 'store');
    }
    this.#store = store;
    this.#tokens = readTokens(options?.token).map(digest);
    this.#clock = options.clock ?? systemClock;
    this.#health = healthOf(store, this.#clock);
    this.#plans = new Plans(store);
  }

  /** Never rejects. */
  async answer(asked: Asked): Promise<Answered> {
    if (!asked.path.endsWith(STORE_PATH)) {
      const what = /\/v\d+\/store$/.test(asked.path) ? 'another version is served here' : 'nothing is served here';
      return problem(404, `${what}: the store is at ${STORE_PATH}`);
    }
    if (asked.method !== 'POST') return problem(405, 'the store takes POST', { allow: 'POST' });
    if (!this.#isKnown(asked.authorization)) {
      return problem(401, 'expected a token that is taken here', { 'www-authenticate': 'Bearer' });
    }
    try {
      const text = await asked.body();
      if (text === undefined) return problem(413, 'the request is too long');
      return json(200, { replies: await this.#run(text) });
    } catch (error) {
      if (error instanceof BadInput) return problem(400, error.message, {}, error.field);
      // The request was cut off, or the store fails in a way that no store may.
      return problem(500, error instanceof Error ? error.message : String(error));
    }
  }

  /** Compares digests, so that time tells nothing of a token, not even its length. */
  #isKnown(authorization: string | undefined): boolean {
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
    if (token === undefined) return false;
    const given = digest(token);
    return this.#tokens.map((known) => difference(known, given)).includes(0);
  }

  async #run(text: string): Promise<readonly WireReply[]> {
    const request: Partial<Record<keyof WireRequest, unknown>> = readFields(parse(text), 'body');
    const { timeoutMs, plans, operations } = request;
    refuseOthers(request, '', ['timeoutMs', 'plans', 'operations']);
    const time = storeTimeOf(readWhole(timeoutMs, 'timeoutMs', 1, TIMEOUT_MAX_MS));
    const bound = this.#bind(plans);
    const planOf = (field: string) => (name: string) => {
      const plan = bound.get(name);
      if (plan !== undefined) return plan;
      throw new BadInput(field, `${field}: expected the name of one of the plans, got ${show(name)}`);
    };
    // All are read before the first runs: a request that is refused has done nothing.
    const calls = readList(operations, 'operations', OPERATIONS_MAX).map((operation, i) => {
      const field = `operations[${i}]`;
      return readOperation(operation, field, planOf(`${field}.plan`));
    });
    return Promise.all(calls.map((call) => this.#reply(call, time)));
  }

  #bind(plans: unknown): ReadonlyMap<string, BoundPlan> {
    const written = Object.entries(readFields(plans, 'plans'));
    if (written.length > OPERATIONS_MAX) throw new BadInput('plans', `plans: expected at most ${OPERATIONS_MAX}`);
    return new Map(
      written.map(([name, plan]) => [name, this.#plans.bind(plan, `plans.${name.slice(0, SHOWN_MAX)}`)] as const),
    );
  }

  /** Under breakers of this process, for it alone knows the nodes; a failure is a reply. */
  async #reply(operation: Operation, { limitMs, breakerMs }: StoreTime): Promise<WireReply> {
    const onError = (error: unknown): WireReply => ({ error: failureOf(error) });
    const onValue = (value: unknown): WireReply => ({ value });
    try {
      if (operation.policy === undefined) {
        return onValue(await this.#inTime(Promise.resolve(operation.run(this.#store)), limitMs));
      }
      const { policy, subject, run } = operation;
      const asker = new Asker(policy, this.#health, this.#clock, limitMs, breakerMs);
      return await asker.ask({ subject, start: run, signal: undefined, timeoutMs: undefined, onValue, onError });
    } catch (error) {
      return onError(error);
    }
  }

  /** What is about no subject has no breaker, but would hold back all that came with it. */
  #inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
    const waiter: Waiter = { isOver: false, timeoutMs };
    const onError = (error: unknown): never => {
      throw error;
    };
    const [clock, signal] = [this.#clock, undefined];
    return withDeadline<T, T>(work, {
      waiter,
      timeoutMs,
      signal,
      clock,
      onSettled: () => undefined,
      onValue: (value) => value,
      onError,
    });
  }
}

function failureOf(error: unknown): Extract<WireReply, { error: unknown }>['error'] {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof StoreError)) return { kind: 'unavailable', message };
  return { kind: error.kind, message, ...(error.isUnsent && { isUnsent: true }) };
}

function parse(text: string): unknown {
  if (isDeep(text, NESTING_MAX)) throw new BadInput('body', 'body: expected fewer brackets in brackets');
  try {
    return JSON.parse(text);
  } catch {
    throw new BadInput('body', 'body: expected JSON');
  }
}

const digest = (token: string): Uint8Array => sha256(new TextEncoder().encode(token));

const difference = (a: Uint8Array, b: Uint8Array): number => a.reduce((sum, byte, i) => sum | (byte ^ (b[i] ?? 0)), 0);

const TOKEN_LENGTH_MIN = 16;

function readTokens(given: unknown): readonly string[] {
  const tokens: readonly unknown[] = Array.isArray(given) ? given : [given];
  const isToken = (token: unknown) => typeof token === 'string' && /^[\x21-\x7e]+$/.test(token);
  if (tokens.length > 0 && tokens.every((token) => isToken(token) && (token as string).length >= TOKEN_LENGTH_MIN)) {
    return tokens as readonly string[];
  }
  const expected = `a text of at least ${TOKEN_LENGTH_MIN} characters without spaces, or a list of such`;
  throw new ComportaError('ERR_OPTION', `serveStore: token: expected ${expected}`, 'token');
}

function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answered {
  const type = status === 200 ? 'application/json' : 'application/problem+json';
  return {
    status,
    headers: { 'content-type': type, 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(body),
  };
}

function problem(status: number, detail: string, headers?: Readonly<Record<string, string>>, field?: string): Answered {
  const body = { type: 'about:blank', title: TITLES[status], status, detail, ...(field !== undefined && { field }) };
  return json(status, body, headers);
}
