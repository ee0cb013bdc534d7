import { readFileSync } from 'node:fs';
import { type Limit, limitKinds } from 'comporta';
import { kinds } from './arbitraries.js';

/** `[dtMs, cost, allowed, remaining, retryAfterMs, resetAfterMs, nextAfterMs]` */
export type Row = readonly [number, number, number, number, number, number, number];

export interface Vector {
  readonly kind: string;
  readonly about: string;
  readonly limit: Limit;
  readonly startMs: number;
  readonly rows: readonly Row[];
}

/** The examples worked out by hand that stand beside every algorithm. */
export const vectors: readonly Vector[] = kinds.flatMap((kind) => {
  const file = kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const path = new URL(`../../packages/comporta/src/algorithms/${file}.vectors.json`, import.meta.url);
  const examples = JSON.parse(readFileSync(path, 'utf8')) as {
    about: string;
    settings: Record<string, unknown>;
    startMs: number;
    rows: Row[];
  }[];
  return examples.map(({ settings, ...rest }) => ({
    kind,
    limit: (limitKinds[kind] as (typeof limitKinds)[string]).build(settings),
    ...rest,
  }));
});
