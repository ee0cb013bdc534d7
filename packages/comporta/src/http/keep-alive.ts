import { globalValue } from '../core/globals.js';
import { unawaited } from '../core/unawaited.js';
import type { Gate, Verdict } from './gate.js';

/** Keeps a function's instance awake until a promise settles. */
export type KeepAlive = (work: Promise<unknown>) => unknown;

interface Context {
  waitUntil?(work: Promise<unknown>): unknown;
}

/** Where Vercel keeps the context of the request that is being answered. */
const VERCEL = Symbol.for('@vercel/request-context');

/**
 * How to keep the instance awake for what is left to do after a response: by `waitUntil` of what the platform
 * passed to the handler (Cloudflare, Netlify, Next) or of Vercel's own context; `undefined` on a server.
 */
export function keepAliveOf(contexts: readonly unknown[]): KeepAlive | undefined {
  try {
    const context = contexts.find(isContext) ?? vercelContext();
    return context === undefined ? undefined : (work) => context.waitUntil(work);
  } catch {
    // A context that cannot be read is none.
    return undefined;
  }
}

function isContext(value: unknown): value is Required<Context> {
  return typeof value === 'object' && value !== null && typeof (value as Context).waitUntil === 'function';
}

function vercelContext(): Required<Context> | undefined {
  const holder = globalValue(VERCEL) as { get?(): unknown } | undefined;
  const context = holder?.get?.();
  return isContext(context) ? context : undefined;
}

/**
 * The same verdict; what it leaves to do keeps the instance awake: after the response has ended, or after a
 * refusal by one of several policies, which gives back what the others charged. Asked how only when there is any.
 */
export function stayAwake(
  verdict: Verdict,
  keepAlive: () => KeepAlive | undefined,
  gate: Pick<Gate, 'settled'>,
): Verdict {
  const { allowed, decisions, finish } = verdict;
  if (finish === undefined && (allowed || decisions.length <= 1)) return verdict;
  const keep = keepAlive();
  if (keep === undefined) return verdict;
  if (finish === undefined) {
    hold(keep, gate.settled());
    return verdict;
  }
  let isDone: () => void = () => undefined;
  hold(
    keep,
    new Promise<void>((resolve) => {
      isDone = resolve;
    }),
  );
  return {
    ...verdict,
    finish: (outcome) => {
      finish(outcome);
      void gate.settled().then(isDone);
    },
  };
}

/** A platform that takes no more work changes nothing about the request. */
function hold(keepAlive: KeepAlive, work: Promise<unknown>): void {
  try {
    unawaited(keepAlive(work));
  } catch {
    // The work goes on for as long as the instance is awake.
  }
}
