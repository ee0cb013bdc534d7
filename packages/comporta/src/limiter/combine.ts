import type { Decision } from '../core/decision.js';
import { ComportaError } from '../core/errors.js';
import type { MaybePromise } from '../stores/store.js';
import type { CallOptions, Limiter } from './limiter.js';
import type { Reservation, ReserveOptions } from './reservation.js';

/** One subject of a request that has several: a user, its tenant, everybody. */
export interface Check {
  readonly limiter: Limiter;
  readonly subject: string;
  /** The cost of the call when left out. */
  readonly cost?: number;
  /** Name of the plan that applies, where the limiter has plans; else that of the call. */
  readonly plan?: string;
}

/** The answer over several subjects; decisions stand in the order of the checks. */
export interface Combined {
  readonly allowed: boolean;
  readonly decisions: readonly Decision[];
}

/**
 * Decides several subjects in parallel. When one refuses, the others' charges are given back, so a
 * refused request costs nobody anything. Never over-admits; until a charge is back (one round trip)
 * it can refuse another request of that subject that would have fitted.
 */
export function decideAll(checks: readonly Check[], options: CallOptions = {}): MaybePromise<Combined> {
  const decisions = decideEach(checks, options);
  return decisions instanceof Promise
    ? decisions.then((settled) => settle(checks, settled))
    : settle(checks, decisions);
}

/**
 * Decides each check by itself, all at once: a batch costs the time of its slowest. A refusal of one
 * changes nothing for the others. Decisions stand in the order of the checks; throws only on misuse.
 */
export function decideEach(checks: readonly Check[], options: CallOptions = {}): MaybePromise<readonly Decision[]> {
  const answers = askAll(checks, options);
  if (!answers.some((answer) => answer instanceof Promise)) return answers as readonly Decision[];
  return Promise.all(answers).catch((error: unknown) => {
    giveBackSettled(checks, answers);
    throw error;
  });
}

/** Misuse of one check is thrown; what the others charged goes back. */
function askAll(checks: readonly Check[], options: CallOptions): MaybePromise<Decision>[] {
  checkChecks(checks);
  const answers: MaybePromise<Decision>[] = [];
  try {
    for (const check of checks) answers.push(check.limiter.decide(check.subject, optionsOf(check, options)));
    return answers;
  } catch (error) {
    giveBackSettled(checks, answers);
    throw error;
  }
}

/** In the background: what came of each, and what was allowed. */
function giveBackSettled(checks: readonly Check[], answers: readonly MaybePromise<Decision>[]): void {
  void Promise.allSettled(answers).then((outcomes) => {
    outcomes.forEach((outcome, i) => {
      if (outcome.status === 'fulfilled' && outcome.value.allowed)
        giveBack((checks[i] as Check).limiter, outcome.value);
    });
  });
}

/** Throws `ERR_OPTION` unless it is a list of checks. */
function checkChecks(checks: readonly Check[]): void {
  const isCheck = (check: Check | undefined) => typeof check?.limiter?.decide === 'function';
  if (Array.isArray(checks) && checks.every(isCheck)) return;
  throw new ComportaError('ERR_OPTION', 'checks: expected a list of { limiter, subject, cost, plan }', 'checks');
}

function optionsOf({ cost, plan }: Check, options: CallOptions): CallOptions {
  if (cost === undefined && plan === undefined) return options;
  return { ...options, ...(cost === undefined ? {} : { cost }), ...(plan === undefined ? {} : { plan }) };
}

function settle(checks: readonly Check[], decisions: readonly Decision[]): Combined {
  const allowed = decisions.every((decision) => decision.allowed);
  if (!allowed) giveBackAll(checks, decisions);
  return { allowed, decisions };
}

/** The answer of {@link reserveAll}; reservations stand in the order of the checks. */
export interface ReservedAll {
  readonly allowed: boolean;
  readonly reservations: readonly Reservation[];
}

/**
 * Reserves for several subjects in parallel. When one refuses, the others' reservations are cancelled, and those
 * that cannot be are given back when their time is over. Rejects on misuse of any check, with nothing reserved.
 */
export async function reserveAll(checks: readonly Check[], options: ReserveOptions = {}): Promise<ReservedAll> {
  checkChecks(checks);
  const outcomes = await Promise.allSettled(
    checks.map(async ({ limiter, subject, cost }) =>
      limiter.reserve(subject, cost === undefined ? options : { ...options, cost }),
    ),
  );
  const reservations = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const allowed = reservations.length === checks.length && reservations.every((reservation) => reservation.allowed);
  if (allowed) return { allowed, reservations };
  outcomes.forEach((outcome, i) => {
    if (outcome.status === 'fulfilled' && outcome.value.allowed) cancel((checks[i] as Check).limiter, outcome.value);
  });
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return { allowed, reservations };
}

/** In the background, as {@link giveBack}. */
function cancel(limiter: Limiter, reservation: Reservation): void {
  limiter.cancel(reservation).catch(() => undefined);
}

function giveBackAll(checks: readonly Check[], decisions: readonly Decision[]): void {
  decisions.forEach((decision, i) => {
    if (decision.allowed) giveBack((checks[i] as Check).limiter, decision);
  });
}

/** In the background; a limiter that was closed meanwhile keeps the charge, which then runs out by itself. */
function giveBack(limiter: Limiter, decision: Decision): void {
  limiter.refund(decision).catch(() => undefined);
}
