import { globalValue } from '../core/globals.js';
import type { Gate, Verdict } from './gate.js';

/** Keeps a function's instance awake until a promise settles. */
export type KeepAlive = (work: Promise<unknown>) => void;

interface Context {
  waitUntil?(work: Promise<unknown>): void;
}

/** Where Vercel keeps the context of the request that is being answered. */
const VERCEL = Symbol.for('@vercel/request-context');

/**
 * How to keep the instance awake for what is left to do after a response: by `waitUntil` of what the platform
 * passed to the handler (Cloudflare, Netlify, Next) or of Vercel's own context; `undefined` on a server.
 */
export function keepAliveOf(contexts: readonly unknown[]): KeepAlive | undefined {
  const context = contexts.find(isContext) ?? vercelContext();
  return context === undefined ? undefined : (work) => context.waitUntil(work);
}

function isContext(value: unknown): value is Required<Context> {
  return typeof value === 'object' && value !== null && typeof (value as Context).waitUntil === 'function';
}

function vercelContext(): Required<Context> | undefined {
  const holder = globalValue(VERCEL) as { get?(): unknown } | undefined;
  const context = holder?.get?.();
  return isContext(context) ? context : undefined;
}

/** The same verdict; what it leaves to do when the response has ended keeps the instance awake. */
export function stayAwake(verdict: Verdict, keepAlive: KeepAlive | undefined, gate: Pick<Gate, 'settled'>): Verdict {
  const { finish } = verdict;
  if (finish === undefined || keepAlive === undefined) return verdict;
  let isDone: () => void = () => undefined;
  keepAlive(
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
