import { ComportaError, show } from '../core/errors.js';
import { isolatesRequests } from '../core/globals.js';
import { checkOptionNames } from '../core/option-names.js';
import { processId } from '../core/process-id.js';
import { type Clock, systemClock } from '../core/time.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import { Batches, type Deliver, type Sendable } from '../redis/http-batch.js';
import { checkAddress, checkHttpOptions, type HttpOptions, Poster, platformFetch } from '../redis/http-post.js';
import { HttpPolicy, type NamedPlan, type Service } from './http-policy.js';
import { BODY_MAX_BYTES, STORE_PATH, type WireOperation } from './http-protocol.js';
import { outcomesOf, toParts } from './http-replies.js';
import { Presence } from './presence.js';
import { READY_MS, untilAnswered } from './ready.js';
import type { Store } from './store.js';

export interface HttpStoreOptions extends HttpOptions {
  /** One of those that the service takes. */
  readonly token: string;
  /** Told of what a person should know; `console.warn` by default. */
  readonly onWarning?: (message: string) => void;
  readonly clock?: Clock;
}

/** A call in a batch, with the plan that it is about. */
interface Sent extends Sendable {
  readonly plan: NamedPlan | undefined;
}

/**
 * Keeps state in the store of a service, which serves it with `serveStore()`: for processes that cannot reach
 * Redis. `url` is the service's, to which `/v1/store` is added. Throws `ERR_OPTION` for wrong options.
 */
export function httpStore(url: string, options: HttpStoreOptions): Store {
  if (typeof options !== 'object' || options === null) {
    throw new ComportaError('ERR_OPTION', `httpStore: expected (url, { token }), got ${show(options)}`, 'options');
  }
  checkOptionNames(options, ['token', 'fetch', 'batch', 'onWarning', 'clock']);
  checkHttpOptions('httpStore', options);
  const {
    token,
    fetch = platformFetch,
    batch = !isolatesRequests(),
    clock = systemClock,
    onWarning = (text) => console.warn(`comporta: ${text}`),
  } = options;
  const poster = new Poster({ url: checkAddress('httpStore', url, token), token, fetch, clock });
  const service = connected(poster, batch);
  const beat = async (who: string, policies: readonly string[]) =>
    toParts(await service.call({ op: 'beat', who, policies }, undefined), policies.length);
  const ping = async (): Promise<void> => void (await service.call({ op: 'ping' }, undefined));
  const presence = new Presence((policies) => beat(processId(), policies), onWarning);
  let plans = 0;
  return {
    // For limiters what counts is that the state is somewhere else.
    kind: 'redis',
    bind: (plan) => new HttpPolicy(plan, `${plans++}`, service, presence.of(plan.policy)),
    ping,
    ready: (timeoutMs = READY_MS) => untilAnswered(ping, timeoutMs, clock),
    beat,
    warn: onWarning,
    close: async () => service.close(),
  };
}

function connected(poster: Poster, joins: boolean): Service & { close(): void } {
  let isClosed = false;
  const deliver: Deliver<Sent> = async (calls, timeoutMs) => {
    const answer = await poster.post(STORE_PATH, bodyOf(calls, timeoutMs), timeoutMs, calls.length);
    return outcomesOf(answer, calls.length, (text) => poster.redact(text));
  };
  const batches = new Batches<Sent>(deliver, joins);
  // A request is answered as a whole: what is about no subject keeps no decision waiting.
  const others = new Batches<Sent>(deliver, false);
  const call = (operation: WireOperation, waiter: Waiter | undefined, plan?: NamedPlan): Promise<unknown> => {
    const text = JSON.stringify(operation);
    const refusal = isClosed
      ? 'the store is closed'
      : text.length * 3 > BODY_MAX_BYTES
        ? 'the subject is too long'
        : '';
    if (refusal === '') return (plan === undefined ? others : batches).ask({ text, plan }, waiter);
    return Promise.reject(new StoreError(isClosed ? 'unavailable' : 'misconfigured', refusal, { isUnsent: true }));
  };
  const close = () => {
    isClosed = true;
    poster.close();
  };
  return { host: poster.host, call, close };
}

/** Each plan goes once, however many calls are about it. */
function bodyOf(calls: readonly Sent[], timeoutMs: number): string {
  const plans = new Map(calls.flatMap(({ plan }) => (plan === undefined ? [] : [[plan.name, plan.text] as const])));
  const named = [...plans].map(([name, text]) => `"${name}":${text}`).join(',');
  const operations = calls.map(({ text }) => text).join(',');
  return `{"timeoutMs":${timeoutMs},"plans":{${named}},"operations":[${operations}]}`;
}
