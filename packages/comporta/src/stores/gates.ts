import type { Gates } from '../algorithms/compose-gates.js';
import { sha1Hex } from '../core/hash.js';
import { keysOf, refundKey } from './keyspace.js';
import { NO_TERMS, type Plan, refundTtlMs, type Terms } from './store.js';

const NONE: readonly string[] = [];

/** Which gates a policy has. */
export function gatesOf({ blocks, haveTerms = false }: Plan): Gates {
  return {
    areBlockable: blocks !== undefined,
    arePunished: blocks?.refusals !== undefined,
    haveTerms,
  };
}

/** What the gates' part of a script is called with. */
export function gateArguments(plan: Plan, terms: Terms = NO_TERMS): readonly string[] {
  const { blocks, haveTerms } = plan;
  if (blocks?.refusals === undefined && haveTerms !== true) return NONE;
  const punishment = blocks?.refusals === undefined ? [] : [blocks.refusals, blocks.withinMs, blocks.forMs];
  const ruling = haveTerms !== true ? [] : [terms.expected, terms.replaced, refundTtlMs(plan)];
  return [...punishment, ...ruling].map(String);
}

/** Where reservations of a plan's limits are noted. */
export function reservedName({ limits }: Plan): string {
  const names = limits.map(({ id, algorithm }) => `${id}:${algorithm.tag}`).join();
  return `reserved-${sha1Hex(names).slice(0, 8)}`;
}

/** Every key of a subject of one policy. All share one hash tag, hence one slot. */
export class PolicyKeys {
  readonly plan: Plan;
  readonly #prefix: string;
  readonly #reserved: string;
  readonly #gates: Gates;
  /** One per limit, in their order. */
  readonly limits: (escaped: string) => string[];

  constructor(plan: Plan, prefix: string) {
    this.plan = plan;
    this.#prefix = prefix;
    this.limits = keysOf(plan, prefix);
    this.#reserved = reservedName(plan);
    this.#gates = gatesOf(plan);
  }

  /** Marks one decision as refunded or settled. */
  refund(escaped: string, decisionId: string): string {
    return refundKey(this.plan, this.#prefix, escaped, decisionId);
  }

  /** Notes what is reserved of these limits: other limits of the policy, such as a plan's, have notes of their own. */
  reserved(escaped: string): string {
    return this.#named(escaped, this.#reserved);
  }

  block(escaped: string): string {
    return this.#named(escaped, 'block');
  }

  refusals(escaped: string): string {
    return this.#named(escaped, 'refusals');
  }

  terms(escaped: string): string {
    return this.#named(escaped, 'terms');
  }

  /** Keys of the gates, in the order in which scripts take them. */
  gates(escaped: string): readonly string[] {
    const { areBlockable, arePunished, haveTerms } = this.#gates;
    if (!areBlockable && !haveTerms) return NONE;
    return [
      ...(areBlockable ? [this.block(escaped)] : []),
      ...(arePunished ? [this.refusals(escaped)] : []),
      ...(haveTerms ? [this.terms(escaped)] : []),
    ];
  }

  /** What a reset forgets: all but the terms, which are settings. */
  all(escaped: string): string[] {
    const blocks = this.plan.blocks === undefined ? [] : [this.block(escaped), this.refusals(escaped)];
    return [...this.limits(escaped), this.reserved(escaped), ...blocks];
  }

  #named(escaped: string, what: string): string {
    return `${this.#prefix}:{${escaped}}:${this.plan.policy}:${what}`;
  }
}
