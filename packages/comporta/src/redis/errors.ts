import { StoreError } from '../core/waiting.js';

/** Server answers that prove that nothing ran, and what to do about them. */
export type Redirect =
  | { readonly kind: 'noScript' | 'tryAgain' }
  | { readonly kind: 'moved' | 'ask'; readonly address: string };

/** Reads a redirect out of an error's message; `undefined` for every other error. */
export function redirectOf(message: string): Redirect | undefined {
  if (message.startsWith('NOSCRIPT')) return { kind: 'noScript' };
  if (message.startsWith('TRYAGAIN')) return { kind: 'tryAgain' };
  if (message.startsWith('MOVED ')) return { kind: 'moved', address: lastWord(message) };
  if (message.startsWith('ASK ')) return { kind: 'ask', address: lastWord(message) };
  return undefined;
}

const lastWord = (message: string): string => message.slice(message.lastIndexOf(' ') + 1);

/** Prefixes that only a person can mend: rights, types, slots, syntax. The server itself is well. */
const MISCONFIGURED =
  /^(NOAUTH|WRONGPASS|NOPERM|CROSSSLOT|WRONGTYPE|NOPROTO|EXECABORT|ERR(?! max number of clients))\b/;

/** What ioredis says of a connection that is used for messages; servers say ERR. */
const SUBSCRIBED = /^Connection in subscriber mode/;

/** Any failure of a client as a {@link StoreError}. */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  // A client's own time limit, shorter than the policy's: whoever waits less may still be served.
  if (message.startsWith('Command timed out')) return new StoreError('timeout', message);
  const isMisconfigured = MISCONFIGURED.test(message) || SUBSCRIBED.test(message);
  return new StoreError(isMisconfigured ? 'misconfigured' : 'unavailable', message);
}
