import { durationMs, formatDuration } from 'comporta';
import { z } from 'zod';
import { shown } from './shown.js';
import type { Address } from './types.js';

/** Building blocks of the schema whose messages say what was expected. */

const DURATION_PATTERN = '^([0-9]+(ms|s|m|h|d|w))+$';

/** Fault of a duration, or `undefined` when it is one in the range; `or` names what else would do. */
export function durationFault(value: unknown, minMs: number, maxMs: number, or = ''): string | undefined {
  const range = `${formatDuration(minMs)} to ${formatDuration(maxMs)}`;
  let ms: number;
  try {
    ms = durationMs(value, '');
  } catch {
    const form = 'a duration such as "250ms", "10s", "1m30s" or whole milliseconds';
    return `expected ${form}, ${range}${or}, got ${shown(value)}`;
  }
  if (ms >= minMs && ms <= maxMs) return undefined;
  return `expected ${range}${or}, got ${shown(value)}`;
}

/** A duration that stays as it was written, for settings that the library reads itself; `or` as above. */
export function durationText(minMs: number, maxMs: number, or?: string): z.ZodType<string | number> {
  return z
    .unknown()
    .transform((value, context) => {
      const message = durationFault(value, minMs, maxMs, or);
      if (message === undefined) return value as string | number;
      context.issues.push({ code: 'custom', message, input: value });
      return z.NEVER;
    })
    .meta({ type: ['string', 'integer'], pattern: DURATION_PATTERN, minimum: minMs, maximum: maxMs });
}

/** A duration as whole milliseconds. */
export function duration(minMs: number, maxMs: number): z.ZodType<number> {
  return durationText(minMs, maxMs)
    .transform((value) => durationMs(value, ''))
    .meta({ type: ['string', 'integer'], pattern: DURATION_PATTERN, minimum: minMs, maximum: maxMs });
}

/** How long a section goes on after SIGTERM as if nothing were, so that others hear of the end. */
export const drainDelay: z.ZodType<number> = duration(0, 3_600_000).prefault('0s');

/** `host:port`, `[::1]:port`, or a port alone, which means loopback. */
export const address: z.ZodType<Address> = z
  .unknown()
  .transform((value, context): Address => {
    const match = /^(?:(\[[0-9a-fA-F:.%a-z]+\]|[A-Za-z0-9_.-]+):)?(\d{1,5})$/.exec(String(value));
    const port = Number(match?.[2]);
    if (match !== null && port <= 65_535) return { host: (match[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port };
    const got = value === undefined ? 'missing' : `expected host:port such as 127.0.0.1:8080, got ${shown(value)}`;
    context.issues.push({ code: 'custom', message: got, input: value });
    return z.NEVER;
  })
  .meta({ type: ['string', 'integer'], pattern: '^(.+:)?[0-9]{1,5}$' });

/** One value or a list of them, as a list. */
export function oneOrMany<T>(item: z.ZodType<T>): z.ZodType<readonly T[]> {
  return z
    .union([item, z.array(item).min(1)])
    .transform((value) => (Array.isArray(value) ? value : [value]) as readonly T[]);
}

/** Text whose value no message may repeat: keys, passwords, and addresses that are keys. */
export function secretText(isGood: (text: string) => boolean, expected: string): z.ZodType<string> {
  return z
    .unknown()
    .transform((value, context): string => {
      if (typeof value === 'string' && isGood(value)) return value;
      context.issues.push({ code: 'custom', message: `expected ${expected} (the value is not shown)`, input: value });
      return z.NEVER;
    })
    .meta({ type: 'string' });
}

/** Text that must look a certain way. */
export function text(pattern: RegExp, expected: string): z.ZodType<string> {
  return z.string().regex(pattern, { error: (issue) => `expected ${expected}, got ${shown(issue.input)}` });
}
