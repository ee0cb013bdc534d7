import type { Entry, Rate } from './rules.js';
import { unitOf } from './units.js';

/** A request as it came over the wire: numbers are in range, texts are any. */
export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly Descriptor[];
  /** Cost where a descriptor has none of its own; 0 stands for 1. */
  readonly hitsAddend: number;
}

export interface Descriptor {
  readonly entries: readonly Entry[];
  /** Replaces the limit of the file. */
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: number } | undefined;
  /** `undefined` for the request's; 0 looks and charges nothing. */
  readonly hitsAddend?: number | undefined;
  /** Give back instead. */
  readonly isNegativeHits?: boolean | undefined;
}

/** What a descriptor asks for. */
export interface Ask {
  readonly entries: readonly Entry[];
  readonly override: Rate | undefined;
  readonly cost: number;
  readonly isRefund: boolean;
}

/** What is charged for it: nothing where it gives back. */
export const costOf = ({ cost, isRefund }: Ask): number => (isRefund ? 0 : cost);

/** The request cannot be answered: its sender must change it. */
export class BadRequest extends Error {
  override readonly name: string = 'BadRequest';
}

/** Costs above are refused, as the library's own. */
export const COST_MAX: number = Number.MAX_SAFE_INTEGER;

/** What a request asks for; throws {@link BadRequest} naming the field. */
export function asksOf({ domain, descriptors, hitsAddend }: RateLimitRequest): readonly Ask[] {
  if (domain === '') throw new BadRequest('domain: must not be empty');
  if (descriptors.length === 0) throw new BadRequest('descriptors: must not be empty');
  return descriptors.map((descriptor, i) => {
    const { entries } = descriptor;
    const empty = entries.findIndex(hasNoKey);
    if (empty >= 0) throw new BadRequest(`descriptors[${i}].entries[${empty}].key: must not be empty`);
    const cost = descriptor.hitsAddend ?? (hitsAddend === 0 ? 1 : hitsAddend);
    if (!Number.isSafeInteger(cost)) {
      throw new BadRequest(`descriptors[${i}].hits_addend: must not be above ${COST_MAX}`);
    }
    return {
      entries,
      override: overrideOf(descriptor, i),
      cost,
      isRefund: descriptor.isNegativeHits === true,
    };
  });
}

const hasNoKey = ({ key }: Entry): boolean => key === '';

function overrideOf({ limit, entries }: Descriptor, i: number): Rate | undefined {
  if (limit === undefined) return undefined;
  const at = `descriptors[${i}]`;
  if (entries.length === 0) throw new BadRequest(`${at}.entries: must not be empty where the request brings a limit`);
  const unit = unitOf(limit.unit);
  if (unit === undefined) throw new BadRequest(`${at}.limit.unit: ${limit.unit} is not a unit`);
  return { requestsPerUnit: limit.requestsPerUnit, unit };
}
