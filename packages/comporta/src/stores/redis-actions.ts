import type { Limit } from '../algorithms/algorithm.js';
import { gateArguments, type PolicyKeys } from './gates.js';
import { type Action, refundTtlMs, type Terms } from './store.js';

/** What is sent for an action around the arguments of the limits that it concerns. */
export interface ActionParts {
  readonly limits: readonly Limit[];
  /** Whether the reply tells the limits' numbers. */
  readonly isTold: boolean;
  readonly keys: readonly string[];
  readonly head: readonly string[];
  readonly tail: readonly string[];
}

const NO_LIMITS = { limits: [], isTold: false, tail: [] };

export function partsOf(action: Action, keys: PolicyKeys, escaped: string, terms: Terms | undefined): ActionParts {
  const { limits } = keys.plan;
  const counted = keys.limits(escaped);
  const gates = gateArguments(keys.plan, terms);
  const whole = { limits, isTold: true };
  switch (action.kind) {
    case 'take':
      return {
        ...whole,
        keys: [...counted, ...keys.gates(escaped)],
        head: heads(action.cost),
        tail: [...gates, action.id],
      };
    case 'reserve': {
      const all = [...counted, keys.reserved(escaped), ...keys.gates(escaped)];
      const head = heads(action.cost, action.id, action.holdMs, refundTtlMs(keys.plan));
      return { ...whole, keys: all, head, tail: [...gates, action.id] };
    }
    case 'settle': {
      const { id, reserved, atUs, holdMs, isNoted } = action;
      const markTtlMs = Math.max(refundTtlMs(keys.plan), holdMs);
      const note = isNoted ? `${id}:${reserved}:${atUs}` : '';
      const head = heads(action.cost, reserved, atUs, atUs + holdMs * 1000, markTtlMs, note);
      const all = [...counted, keys.refund(escaped, id), keys.reserved(escaped)];
      return { ...whole, keys: all, head, tail: [id] };
    }
    case 'block':
      return { ...NO_LIMITS, keys: [keys.block(escaped), keys.refusals(escaped)], head: heads(action.cost) };
    case 'setTerms':
      return { ...NO_LIMITS, keys: [keys.terms(escaped)], head: heads(action.cost, action.terms) };
    case 'release':
    case 'renew':
      return { limits, isTold: false, keys: counted, head: heads(0), tail: [action.id] };
    default:
      return { ...whole, keys: counted, head: heads(action.cost), tail: [] };
  }
}

/** The server's clock decides; then the cost and what an action takes beside it. */
const heads = (...values: readonly (string | number)[]): string[] => ['', ...values.map(String)];
