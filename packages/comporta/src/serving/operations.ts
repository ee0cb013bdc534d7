import { DURATION_MAX_MS, UNITS_MAX } from '../algorithms/ranges.js';
import { LIMITS_MAX } from '../algorithms/written.js';
import { StoreError, type Waiter } from '../core/waiting.js';
import { BODY_MAX_BYTES } from '../stores/http-protocol.js';
import { ALONE } from '../stores/presence.js';
import type { Action, Charge, MaybePromise, PolicyStore, Store, Terms } from '../stores/store.js';
import type { BoundPlan } from './plans.js';
import {
  BadInput,
  type Fields,
  optional,
  readChoice,
  readFields,
  readFlag,
  readList,
  readText,
  readWhole,
  refuseOthers,
} from './read.js';

/** What a caller asks for, read and found to be meant. */
export type Operation =
  | {
      readonly policy: PolicyStore;
      readonly subject: string;
      run(waiter: Waiter): MaybePromise<unknown>;
    }
  /** About no subject. */
  | { readonly policy: undefined; run(store: Store): MaybePromise<unknown> };

const OPS = ['consume', 'peek', 'force', 'refund', 'act', 'reset', 'beat', 'ping'] as const;
const KINDS = ['charge', 'reward', 'take', 'reserve', 'settle', 'block', 'release', 'renew', 'setTerms'] as const;

const ID_LENGTH_MAX = 128;
const TERMS_LENGTH_MAX = 256 * 1024;
const POLICIES_MAX = 100;
const NAME_LENGTH_MAX = 64;
const HOLD_MAX_MS = 86_400_000;

type Op = (typeof OPS)[number];
type At = (name: string) => string;

/** What each takes beside `op`. */
const TAKEN: Readonly<Record<Op, readonly string[]>> = {
  consume: ['plan', 'subject', 'cost', 'terms', 'id'],
  peek: ['plan', 'subject', 'cost', 'terms', 'id'],
  force: ['plan', 'subject', 'amounts'],
  refund: ['plan', 'charge'],
  act: ['plan', 'action', 'terms'],
  reset: ['plan', 'subject'],
  beat: ['who', 'policies'],
  ping: [],
};

/** Throws `BadInput` naming the field; `planOf` finds the plan that is named. */
export function readOperation(value: unknown, field: string, planOf: (name: string) => BoundPlan): Operation {
  const fields = readFields(value, field);
  const at: At = (name) => `${field}.${name}`;
  const op = readChoice(fields.op, at('op'), OPS);
  const operation = readOf(op, fields, at, planOf);
  refuseOthers(fields, field, ['op', ...TAKEN[op]]);
  return operation;
}

function readOf(op: Op, fields: Fields, at: At, planOf: (name: string) => BoundPlan): Operation {
  if (op === 'ping') return { policy: undefined, run: (store) => store.ping().then(() => true) };
  if (op === 'beat') return readBeat(fields, at);
  const { policy, limits } = planOf(readText(fields.plan, at('plan'), NAME_LENGTH_MAX));
  if (op === 'refund') {
    const charge = readCharge(readFields(fields.charge, at('charge')), at('charge'));
    return { policy, subject: charge.subject, run: (waiter) => policy.refund(charge, waiter) };
  }
  if (op === 'act') {
    const action = readAction(readFields(fields.action, at('action')), at('action'));
    const terms = readTerms(fields.terms, at('terms'));
    const run = (waiter: Waiter) => (policy.act === undefined ? lacks('act') : policy.act(action, waiter, terms));
    return { policy, subject: action.subject, run };
  }
  const subject = readSubject(fields.subject, at('subject'));
  if (op === 'reset') return { policy, subject, run: (waiter) => policy.reset(subject, waiter) };
  if (op === 'force') {
    const amounts = readAmounts(fields.amounts, at('amounts'), limits);
    const run = (waiter: Waiter) => policy.force?.(subject, amounts, waiter) ?? lacks('force');
    return { policy, subject, run };
  }
  const cost = readWhole(fields.cost, at('cost'), op === 'peek' ? 0 : 1);
  const terms = readTerms(fields.terms, at('terms'));
  const id = optional(fields.id, (given) => readId(given, at('id')));
  return { policy, subject, run: (waiter) => policy[op](subject, cost, waiter, terms, id) };
}

/** One for each of the plan's limits. */
function readAmounts(value: unknown, field: string, limits: number): readonly number[] {
  const amounts = readList(value, field, LIMITS_MAX).map((each, i) => readWhole(each, `${field}[${i}]`, 0));
  if (amounts.length === limits) return amounts;
  const told = `got ${amounts.length}`;
  throw new BadInput(field, `${field}: expected one amount for each of the plan's limits, ${limits}, ${told}`);
}

function lacks(what: string): never {
  throw new StoreError('misconfigured', `the store that is served has no ${what}`, { isUnsent: true });
}

/** A subject's length is bounded by that of a request. */
function readSubject(value: unknown, field: string): string {
  const subject = readText(value, field, BODY_MAX_BYTES);
  if (subject === '') throw new BadInput(field, `${field}: expected a text of at least one character`);
  return subject;
}

function readId(value: unknown, field: string): string {
  const id = readText(value, field, ID_LENGTH_MAX);
  if (/^[\x21-\x7e]+$/.test(id)) return id;
  throw new BadInput(field, `${field}: expected visible ASCII characters`);
}

function readTerms(value: unknown, field: string): Terms | undefined {
  return optional(value, (given) => {
    const fields = readFields(given, field);
    const { expected, replaced } = fields;
    refuseOthers(fields, field, ['expected', 'replaced']);
    return {
      expected: readText(expected, `${field}.expected`, TERMS_LENGTH_MAX),
      replaced: readText(replaced, `${field}.replaced`, TERMS_LENGTH_MAX),
    };
  });
}

function readBeat({ who, policies }: Fields, at: At): Operation {
  const name = readId(who, at('who'));
  const names = readList(policies, at('policies'), POLICIES_MAX).map((policy, i) => {
    return readText(policy, at(`policies[${i}]`), NAME_LENGTH_MAX);
  });
  return { policy: undefined, run: (store) => store.beat?.(name, names) ?? names.map(() => ALONE) };
}

function readCharge(fields: Fields, field: string): Charge {
  const { subject, decisionId, atUs, amount, isPart } = fields;
  refuseOthers(fields, field, ['subject', 'decisionId', 'atUs', 'amount', 'isPart']);
  const isSome = optional(isPart, (given) => readFlag(given, `${field}.isPart`));
  return {
    subject: readSubject(subject, `${field}.subject`),
    decisionId: readId(decisionId, `${field}.decisionId`),
    atUs: readWhole(atUs, `${field}.atUs`, 0),
    amount: readWhole(amount, `${field}.amount`, 1),
    ...(isSome === true && { isPart: true }),
  };
}

/** What actions take, each its part of them. */
const OF_ACTIONS = ['kind', 'subject', 'cost', 'id', 'holdMs', 'reserved', 'atUs', 'isNoted', 'terms'];

function readAction(fields: Fields, field: string): Action {
  const at: At = (name) => `${field}.${name}`;
  refuseOthers(fields, field, OF_ACTIONS);
  const kind = readChoice(fields.kind, at('kind'), KINDS);
  const subject = readSubject(fields.subject, at('subject'));
  const cost = (least: number, most?: number): number => readWhole(fields.cost, at('cost'), least, most);
  const id = (): string => readId(fields.id, at('id'));
  const holdMs = (): number => readWhole(fields.holdMs, at('holdMs'), 1, HOLD_MAX_MS);
  switch (kind) {
    case 'charge':
    case 'reward':
      return { kind, subject, cost: cost(1) };
    case 'take':
      return { kind, subject, cost: cost(1, UNITS_MAX), id: id() };
    case 'reserve':
      return { kind, subject, cost: cost(1), id: id(), holdMs: holdMs() };
    case 'settle': {
      const reserved = readWhole(fields.reserved, at('reserved'), 1);
      const atUs = readWhole(fields.atUs, at('atUs'), 0, Number.MAX_SAFE_INTEGER - HOLD_MAX_MS * 1000);
      const isNoted = readFlag(fields.isNoted, at('isNoted'));
      return { kind, subject, cost: cost(0), id: id(), holdMs: holdMs(), reserved, atUs, isNoted };
    }
    case 'block':
      return { kind, subject, cost: cost(0, DURATION_MAX_MS) };
    case 'release':
    case 'renew':
      return { kind, subject, cost: 0, id: id() };
    case 'setTerms':
      return {
        kind,
        subject,
        cost: cost(0, DURATION_MAX_MS),
        terms: readText(fields.terms, at('terms'), TERMS_LENGTH_MAX),
      };
  }
}
