import type { Verdict } from 'comporta/http';
import { type Parameters, parseList } from 'structured-headers';

/** Value of a field of a verdict. */
export function field(verdict: Pick<Verdict, 'headers'>, name: string): string | undefined {
  return verdict.headers.find(([known]) => known === name)?.[1];
}

/** A list of named items as an object, read by an independent parser; throws when the field is malformed. */
export function items(value: string | null | undefined): Record<string, Record<string, unknown>> {
  const list = parseList(value ?? '') as [unknown, Parameters][];
  for (const [name] of list) if (typeof name !== 'string') throw new TypeError(`not a String: ${String(name)}`);
  return Object.fromEntries(list.map(([name, parameters]) => [name, Object.fromEntries(parameters)]));
}
