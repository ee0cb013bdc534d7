import type { Decision } from '../core/decision.js';
import { ComportaError, show } from '../core/errors.js';
import { unawaited } from '../core/unawaited.js';
import type { Guard } from '../resilience/guard.js';
import { ANY_TERMS, type Plan, type Terms } from '../stores/store.js';
import { fits, rankIn, type Split } from './split.js';
import { type Reading, readTerms, revisionText, type Table } from './terms.js';

/** The limits that one decision is made by, with the guard that asks for them. */
export interface Variant {
  readonly limits: Plan['limits'];
  readonly guard: Guard;
  /** Into how many the subject is split: the guard is of one of them, the limits are those of all together. */
  readonly parts: number;
  /** What the store must hold for these limits to be right; `undefined` where it holds nothing of the kind. */
  readonly terms: Terms | undefined;
}

export interface VariantsOptions {
  readonly table: Table;
  /** Set where limits may be changed while processes with older ones run. */
  readonly revision: number | undefined;
  /** Whether subjects may have terms of their own in the store. */
  readonly haveTerms: boolean;
  readonly planOf: ((subject: string) => string | undefined) | undefined;
  readonly split?: Split | undefined;
  readonly guardOf: (limits: Plan['limits']) => Guard;
  /** Told of stored terms that this process does not understand. */
  readonly onUnknown: (text: string) => void;
}

/** Subjects whose terms are remembered, and different terms that are kept read; older ones are asked for again. */
const SUBJECTS_MAX = 10_000;
const TEXTS_MAX = 200;

/** Finds the limits that apply to a subject: its plan's, its own, or those of a newer revision. */
export class Variants {
  readonly #options: VariantsOptions;
  /** This process's own terms; empty without a revision. */
  readonly #own: string;
  readonly #guards: Map<Plan['limits'], Guard> = new Map();
  /** Of limits that no terms stand for. */
  readonly #plain: Map<Plan['limits'], Variant> = new Map();
  /** That of the policy's own limits, where neither `planOf` nor terms can name others. */
  #usual: Variant | undefined;
  /** Terms as the store last told them; subjects without any are not kept. */
  readonly #stored: Map<string, string> = new Map();
  readonly #readings: Map<string, Reading> = new Map();

  constructor(options: VariantsOptions) {
    this.#options = options;
    this.#own = options.revision === undefined ? '' : revisionText(options.revision, options.table);
  }

  /** Throws `ERR_PLAN` for a plan that the policy does not have, and when `planOf` fails. */
  of(subject: string, plan?: string): Variant {
    if (plan === undefined && this.#usual !== undefined) return this.#usual;
    return this.#under(subject, plan ?? this.#planOf(subject));
  }

  /** By this process's own terms, whatever stands: for a text that no client can send back as it is. */
  despite(subject: string, plan?: string): Variant {
    const limits = limitsOf(this.#options.table, plan ?? this.#planOf(subject));
    return this.#variant(limits, { expected: this.#own, replaced: ANY_TERMS });
  }

  /** As {@link Variants.of}, for what must not fail: where no plan can be found, by the policy's own limits. */
  known(subject: string): Variant {
    try {
      return this.of(subject);
    } catch {
      return this.#under(subject, undefined);
    }
  }

  /** The limits that a decision was made by, whatever applies to its subject now; `undefined` when not known here. */
  behind(decision: Pick<Decision, 'subject' | 'limits' | 'id'>): Variant | undefined {
    const whole = this.#wholeBehind(decision);
    const rank = rankIn(decision.id);
    if (whole === undefined || rank === undefined) return whole;
    // Made by a process that splits otherwise.
    return rank < (this.#options.split?.parts ?? 0) ? this.part(whole, rank) : undefined;
  }

  #wholeBehind({ subject, limits: states }: Pick<Decision, 'subject' | 'limits'>): Variant | undefined {
    const now = this.known(subject);
    if (!Array.isArray(states) || states.length === 0) return now;
    const { table, haveTerms } = this.#options;
    const all = [now.limits, table.limits, ...table.plans.values(), ...(haveTerms ? this.#guards.keys() : [])];
    // A part of the limits that decided while the store was away has their ids only.
    const found = all.find((limits) => isOf(limits, states, true)) ?? all.find((limits) => isOf(limits, states, false));
    return found && { limits: found, guard: this.#guard(found), parts: 1, terms: undefined };
  }

  /** One part of a subject that is split. */
  part({ limits }: Variant, rank: number): Variant {
    const { split } = this.#options;
    const guard = this.#guard(split?.limitsOf(limits)[rank] ?? limits);
    return { limits, guard, parts: split?.parts ?? 1, terms: undefined };
  }

  /** Whether a cost can ever pass by the limits that are known to apply. */
  fits(subject: string, cost: number): boolean {
    const { limits } = this.of(subject);
    const { split } = this.#options;
    return split?.has(subject) === true ? split.fits(limits, cost) : fits(limits, cost);
  }

  /** Where a change of a subject is made: all of it in one place, or a share of it in each of its parts. */
  spread(subject: string, cost: number, plan: string | undefined): readonly (Variant & { readonly cost: number })[] {
    const whole = this.of(subject, plan);
    const { split } = this.#options;
    if (split?.has(subject) !== true) return [{ ...whole, cost }];
    return split.spread(subject, cost).map(({ rank, cost }) => ({ ...this.part(whole, rank), cost }));
  }

  /** Guards that together reach all of a subject's keys: plans may count under ids of their own. */
  all(subject: string): readonly Guard[] {
    const { table, split } = this.#options;
    const whole = [table.limits, ...table.plans.values(), this.known(subject).limits];
    const keysOf = (limits: Plan['limits']) => limits.map(({ id, algorithm }) => `${id}:${algorithm.tag}`).join();
    const different = [...new Map(whole.map((limits) => [keysOf(limits), limits])).values()];
    const each =
      split?.has(subject) === true ? different.flatMap((limits) => [limits, ...split.limitsOf(limits)]) : different;
    return each.map((limits) => this.#guard(limits));
  }

  /** The store holds these terms for a subject. */
  learn(subject: string, text: string): void {
    this.#stored.delete(subject);
    if (text === '') return;
    if (this.#stored.size >= SUBJECTS_MAX) this.#stored.delete(this.#stored.keys().next().value as string);
    this.#stored.set(subject, text);
  }

  /** Every limit that stands in for the store pays back, whichever was answered. */
  startPayBack(): void {
    for (const guard of this.#guards.values()) guard.startPayBack();
  }

  /** Drops what this process alone knows of a subject, under whatever limits. */
  forget(subject: string): void {
    for (const guard of this.#guards.values()) guard.forget(subject);
  }

  close(): void {
    for (const guard of this.#guards.values()) guard.close();
  }

  #under(subject: string, plan: string | undefined): Variant {
    const { table, haveTerms, revision = -1 } = this.#options;
    const own = limitsOf(table, plan);
    if (!haveTerms) return this.#plain.get(own) ?? this.#addPlain(own);
    const text = this.#stored.get(subject) ?? '';
    const reading = this.#read(text);
    if (!stands(reading, revision)) return this.#variant(own, { expected: this.#own, replaced: text });
    return this.#variant(this.#told(reading, plan) ?? own, { expected: text, replaced: text });
  }

  #planOf(subject: string): string | undefined {
    try {
      return unawaited(this.#options.planOf?.(subject)) ?? undefined;
    } catch (error) {
      const words = error instanceof Error ? error.message : show(error);
      throw new ComportaError('ERR_PLAN', `planOf: the function failed: ${words}`, 'planOf');
    }
  }

  /** The limits of what stands; `undefined` when this process does not know them. */
  #told(reading: Reading, plan: string | undefined): Plan['limits'] | undefined {
    if (reading.kind === 'override') return reading.limits ?? this.#options.table.plans.get(reading.plan ?? '');
    if (reading.kind !== 'revision') return undefined;
    return plan === undefined ? reading.table.limits : (reading.table.plans.get(plan) ?? reading.table.limits);
  }

  #variant(limits: Plan['limits'], terms: Terms): Variant {
    return { limits, guard: this.#guard(limits), parts: 1, terms };
  }

  #addPlain(limits: Plan['limits']): Variant {
    const variant = { limits, guard: this.#guard(limits), parts: 1, terms: undefined };
    this.#plain.set(limits, variant);
    if (this.#options.planOf === undefined && limits === this.#options.table.limits) this.#usual = variant;
    return variant;
  }

  #guard(limits: Plan['limits']): Guard {
    const guard = this.#guards.get(limits) ?? this.#options.guardOf(limits);
    this.#guards.set(limits, guard);
    return guard;
  }

  #read(text: string): Reading {
    const known = this.#readings.get(text);
    if (known !== undefined) {
      // To the end: what is used is not the oldest.
      this.#readings.delete(text);
      this.#readings.set(text, known);
      return known;
    }
    const reading = readTerms(text);
    const isUnknownPlan =
      reading.kind === 'override' && reading.plan !== undefined && !this.#options.table.plans.has(reading.plan);
    if (reading.kind === 'unknown' || isUnknownPlan) this.#options.onUnknown(text);
    if (this.#readings.size >= TEXTS_MAX) this.#forgetOldest();
    this.#readings.set(text, reading);
    return reading;
  }

  #forgetOldest(): void {
    const [[text, reading] = ['', undefined]] = this.#readings;
    this.#readings.delete(text);
    for (const limits of reading === undefined ? [] : limitsIn(reading)) {
      this.#guards.get(limits)?.close();
      this.#guards.delete(limits);
    }
  }
}

/** Whether stored terms stand above those of a process with this revision. */
function stands(reading: Reading, revision: number): boolean {
  if (reading.kind === 'none') return false;
  return reading.kind === 'override' || reading.revision > revision;
}

function isOf(limits: Plan['limits'], states: Decision['limits'], isExact: boolean): boolean {
  if (limits.length !== states.length) return false;
  return limits.every(({ id, limit, windowMs }, i) => {
    const state = states[i];
    return state?.id === id && (!isExact || (state.limit === limit && state.windowMs === windowMs));
  });
}

function limitsOf({ limits, plans }: Table, plan: string | undefined): Plan['limits'] {
  const found = plan === undefined ? limits : plans.get(plan);
  if (found !== undefined) return found;
  const known = plans.size === 0 ? 'none' : [...plans.keys()].join(', ');
  throw new ComportaError('ERR_PLAN', `plan: there is no ${show(plan)}; the policy has ${known}`, 'plan');
}

function limitsIn(reading: Reading): readonly Plan['limits'][] {
  if (reading.kind === 'override') return reading.limits === undefined ? [] : [reading.limits];
  return reading.kind === 'revision' ? [reading.table.limits, ...reading.table.plans.values()] : [];
}
