import { show } from '../core/errors.js';
import type { Policy } from './policy.js';
import { refusal } from './refusal.js';

/** Whether a subject's decisions are only reported. */
export type IsShadowed = (subject: string) => boolean;

const NEVER: IsShadowed = () => false;
const ALWAYS: IsShadowed = () => true;

/** Compiles who is in the shadow; throws `ERR_POLICY`. */
export function compileShadow({ name, shadow }: Pick<Policy<never>, 'name' | 'shadow'>, field: string): IsShadowed {
  if (shadow === undefined || shadow === false) return NEVER;
  if (shadow === true) return ALWAYS;
  const { percent, ...others } = typeof shadow === 'object' && shadow !== null ? shadow : { percent: undefined };
  const isPercent = typeof percent === 'number' && percent >= 0 && percent <= 100;
  if (percent === undefined || Object.keys(others).length > 0) {
    throw refusal(field, `expected true, false or { percent }, got ${show(shadow)}`);
  }
  if (!isPercent) throw refusal(`${field}.percent`, `expected a number from 0 to 100, got ${show(percent)}`);
  const start = hash(2_166_136_261, `${name} `);
  return (subject) => (spread(hash(start, subject)) / 2 ** 32) * 100 < percent;
}

/** FNV-1a over UTF-16 units: the same in every process, so that a subject stays in or out. */
function hash(start: number, text: string): number {
  let value = start;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16_777_619);
  return value;
}

/** FNV leaves subjects that differ in their last character close together; this sets them apart (MurmurHash3). */
function spread(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
