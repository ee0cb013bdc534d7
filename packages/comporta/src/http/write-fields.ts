import type { FieldTarget } from './apply.js';
import type { Verdict } from './gate.js';
import { respond } from './respond.js';

/** What is used of the responses of Node, Express and Fastify, as far as each has it. */
interface AnyResponse extends FieldTarget {
  readonly raw?: AnyResponse;
  readonly sent?: boolean;
  readonly headersSent?: boolean;
  readonly writableEnded?: boolean;
  readonly destroyed?: boolean;
  getHeader?(name: string): unknown;
  setHeader?(name: string, value: string): unknown;
  header?(name: string, value: string): unknown;
}

/**
 * Sets a verdict's fields on a response of Node, Express or Fastify, or on `Headers`, where there is one and it is
 * still open; its body, and thus its type, are somebody else's. Never throws.
 */
export function writeFields(verdict: Verdict, response: unknown): void {
  const target = targetOf(response as AnyResponse | null | undefined);
  if (target === undefined) return;
  const headers = verdict.headers.filter(([name]) => name !== 'content-type');
  respond({ ...verdict, headers }, { ...target, isOpen: () => isOpen(response as AnyResponse), send: () => undefined });
}

function targetOf(response: AnyResponse | null | undefined): FieldTarget | undefined {
  if (response instanceof Headers) {
    return { get: (name) => response.get(name), set: (name, value) => response.set(name, value) };
  }
  const set = response?.setHeader ?? response?.header;
  if (!response || typeof set !== 'function') return undefined;
  return { get: (name) => response.getHeader?.(name), set: (name, value) => void set.call(response, name, value) };
}

function isOpen({ sent, headersSent, writableEnded, destroyed, raw }: AnyResponse): boolean {
  return !(sent || headersSent || writableEnded || destroyed) && (raw === undefined || isOpen(raw));
}
