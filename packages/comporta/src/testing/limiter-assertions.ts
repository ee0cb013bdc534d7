import type { Decision, DegradedCause, DenialReason, FailureMode } from '../core/decision.js';
import type { CallOptions, Limiter } from '../limiter/limiter.js';
import { AssertionError, assertSame } from './assertion.js';

type Consumer = Pick<Limiter, 'policy' | 'consume'>;

const describe = ({ policy, subject, reason, degraded }: Decision): string =>
  `${policy}, ${JSON.stringify(subject)}: ${reason ?? 'admitted'}${degraded === undefined ? '' : `, ${degraded.cause}`}`;

/** A decision that somebody else than the store made says nothing of the limit. */
async function decided(limiter: Consumer, subject: string, options: CallOptions | undefined): Promise<Decision> {
  const decision = await limiter.consume(subject, options);
  if (decision.degraded === undefined) return decision;
  const message = `expected a decision of the store (${describe(decision)}: ${decision.degraded.detail})`;
  throw new AssertionError(message, decision.degraded, undefined);
}

/**
 * Asks `times` times, and fails unless the store admits each; charges. The last decision.
 * Rejects with an `AssertionError` that says which request was refused, and why.
 */
export async function assertAdmits(
  limiter: Consumer,
  subject: string,
  times = 1,
  options?: CallOptions,
): Promise<Decision> {
  for (let i = 1; ; i++) {
    const decision = await decided(limiter, subject, options);
    if (!decision.allowed) {
      throw new AssertionError(`expected request ${i} of ${times} to be admitted (${describe(decision)})`, false, true);
    }
    if (i >= times) return decision;
  }
}

/** What a refusal is to look like; only what is given is compared. Times in ms, `null` where waiting never helps. */
export interface ExpectedRefusal {
  readonly reason?: DenialReason;
  readonly retryAfterMs?: number | null;
}

/** Asks once, and fails unless the store refuses, in this way. The decision. Rejects as {@link assertAdmits}. */
export async function assertRefuses(
  limiter: Consumer,
  subject: string,
  expected: ExpectedRefusal = {},
  options?: CallOptions,
): Promise<Decision> {
  const decision = await decided(limiter, subject, options);
  if (decision.allowed) {
    throw new AssertionError(`expected a refusal (${describe(decision)}, cost ${decision.cost})`, true, false);
  }
  compare(decision, expected, `the refusal (${describe(decision)})`);
  return decision;
}

/** What a decision without the store is to look like; only what is given is compared. */
export interface ExpectedDegraded {
  readonly mode?: FailureMode;
  readonly cause?: DegradedCause;
  readonly allowed?: boolean;
}

/** Fails with an `AssertionError` unless the store did not make this decision, for this cause and in this mode. */
export function assertDegraded(decision: Decision, expected: ExpectedDegraded = {}): void {
  const { degraded, allowed } = decision;
  if (degraded === undefined) {
    throw new AssertionError(`the store made this decision (${describe(decision)})`, undefined, expected);
  }
  compare({ mode: degraded.mode, cause: degraded.cause, allowed }, expected, 'the degraded decision');
}

function compare(actual: object, expected: object, what: string): void {
  const found = new Map<string, unknown>(Object.entries(actual));
  const seen = Object.keys(expected).map((name) => [name, found.get(name)] as const);
  assertSame(Object.fromEntries(seen), { ...expected }, what);
}
