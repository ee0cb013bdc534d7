import type { Limit } from 'comporta';
import type { Unit } from './units.js';

/** A pair of a descriptor: the value is untrusted text and may be empty. */
export interface Entry {
  readonly key: string;
  readonly value: string;
}

/** What a matched node of a domain's tree asks for. */
export interface Rule {
  /** As in a file of envoyproxy/ratelimit; `undefined` where the rule has `limits` or is unlimited. */
  readonly rate: NamedRate | undefined;
  /** Limits with algorithms, decided all or none; strict mode only. */
  readonly limits: readonly Limit[];
  readonly isUnlimited: boolean;
  readonly name: string;
  /** Names of rules that this one takes the place of, in one request. */
  readonly replaces: readonly string[];
  readonly isShadow: boolean;
  /** Refused only when all rules of this kind in a request refuse. */
  readonly isQuota: boolean;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

/** So many requests in each window of a unit, aligned to the epoch. */
export interface Rate {
  readonly requestsPerUnit: number;
  readonly unit: Unit;
}

/** With the name of its rule: what an answer tells of it. */
export interface NamedRate extends Rate {
  readonly name: string;
}

/** A level of a descriptor in the tree. */
export interface Node {
  /** As written in the file: `key`, or `key_value`. */
  readonly label: string;
  readonly key: string;
  readonly value: string;
  readonly rule: Rule | undefined;
  readonly children: Level;
  /** Name for metrics; `undefined` where a level up to here puts values of the request into it, or shares its own. */
  readonly statsKey: string | undefined;
  /** Names of metrics hold the request's own values: of all levels (on the last), or of this level. */
  readonly isDetailed: boolean;
  readonly isValueInMetric: boolean;
  /** All values that the wildcard matches share one counter. */
  readonly isShared: boolean;
}

/** The nodes below one, as an entry of a descriptor finds its own. */
export interface Level {
  find(entry: Entry): Node | undefined;
}

/** The rules of one name. */
export interface Domain {
  readonly name: string;
  readonly root: Level;
}
