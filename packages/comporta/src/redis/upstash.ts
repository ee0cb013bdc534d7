import type { Script } from '../algorithms/compose.js';
import { sha1Hex } from '../core/hash.js';
import { StoreError } from '../core/waiting.js';
import type { RedisClient, RedisNode } from './client.js';
import { Batches, type Outcome, type Sendable } from './http-batch.js';
import { type Answer, Poster, type PostOptions, statusError } from './http-post.js';

/** A command as it is sent, and as it was given. */
interface Sent extends Sendable {
  readonly command: readonly string[];
}

/** Upstash's REST API as a client with one node: what is given in one tick goes as one pipeline if it `joins`. */
export function fromUpstash(options: PostOptions, joins: boolean): RedisClient {
  const poster = new Poster(options);
  let isClosed = false;
  const batches = new Batches<Sent>(async (items, timeoutMs) => {
    const [only] = items;
    if (only !== undefined && items.length === 1) {
      return [outcomeOf(await poster.post('/', only.text, timeoutMs, 1), only, options.token)];
    }
    const body = `[${items.map(({ text }) => text).join(',')}]`;
    const answer = await poster.post('/pipeline', body, timeoutMs, items.length);
    return outcomesOf(answer, items, options.token);
  }, joins);
  const node: RedisNode = {
    address: poster.host,
    isReady: () => !isClosed,
    send: (command, waiter) => batches.ask({ command, text: JSON.stringify(command) }, waiter),
  };
  return {
    isCluster: false,
    nodeOf: () => node,
    nodeAt: () => node,
    refresh: () => undefined,
    warnings: [],
    dialect: withKeyLocking,
    joins,
    lastError: () => (isClosed ? 'the store is closed' : undefined),
    close: async () => {
      isClosed = true;
      poster.close();
    },
  };
}

const translated: WeakMap<Script, Script> = new WeakMap();

/**
 * A script that locks the keys it declares. Without the flag Upstash runs one script at a time, whatever its
 * keys; other servers refuse the flag.
 */
export function withKeyLocking(script: Script): Script {
  const known = translated.get(script);
  if (known !== undefined) return known;
  // Of the flags that scripts have, Upstash documents this one.
  const text = script.text.replace(/^#!lua(.*)\n/, (_, flags: string) => {
    return `#!lua flags=${flags.includes('no-writes') ? 'no-writes,' : ''}allow-key-locking\n`;
  });
  const made = { text, sha: sha1Hex(text) };
  translated.set(script, made);
  return made;
}

function outcomesOf({ status, body }: Answer, items: readonly Sent[], token: string): readonly Outcome[] {
  if (Array.isArray(body) && body.length === items.length) {
    return items.map((item, i) => outcomeOf({ status, body: body[i] }, item, token));
  }
  // The request as a whole was refused.
  return items.map((item) => outcomeOf({ status, body }, item, token));
}

/** A reply, or the error of the server: that comes with a status of 400 where a command went alone. */
function outcomeOf({ status, body }: Answer, { command }: Sent, token: string): Outcome {
  const { result, error } = (body ?? {}) as { readonly result?: unknown; readonly error?: unknown };
  if (typeof error === 'string') {
    const text = redact(error, command, token);
    return { error: status === 400 ? new Error(text) : (statusError(status, text) ?? new Error(text)) };
  }
  const isReply = typeof body === 'object' && body !== null && 'result' in body;
  const failed = statusError(status);
  if (failed !== undefined || isReply) return failed === undefined ? { value: result } : { error: failed };
  const what = 'the server answers what is no reply of the Upstash REST API; is the URL right?';
  return { error: new StoreError('unavailable', what) };
}

const ERROR_LENGTH_MAX = 300;

/** Servers repeat what they were given: keys hold subjects, which must not end up in logs. Prefixes stay. */
function redact(error: string, command: readonly string[], token: string): string {
  const [prefix = '', ...words] = error.slice(0, ERROR_LENGTH_MAX).split(' ');
  let rest = words.join(' ').replaceAll(token, '[token]');
  for (const given of command.slice(1)) if (given.length > 3) rest = rest.replaceAll(given, '…');
  return words.length === 0 ? prefix : `${prefix} ${rest}`;
}
