import type { Decision, Degraded, LimitState } from 'comporta';
import { z } from 'zod';

/** Building blocks of requests and answers; what is described here is described in the documents. */

const UNITS_MAX = Number.MAX_SAFE_INTEGER;
const TIMEOUT_MAX_MS = 60_000;
const HOLD_MAX_MS = 86_400_000;
const PARTS_MAX = 8;

export const whole = (least: number, most: number = UNITS_MAX): z.ZodNumber => z.int().min(least).max(most);

const policyName: z.ZodString = z.string().min(1).max(64).describe('Name of a policy of the configuration.');

const subject: z.ZodType<string | readonly string[]> = z
  .union([z.string().min(1), z.array(z.string().min(1)).max(PARTS_MAX)])
  .describe(
    "Who is counted: a text as it is, or the list of values of the policy's key, in its order. The list names the same subject as at the gateway.",
  );

const cost = whole(0).describe("What the call costs; the policy's own cost when left out. 0 only looks.");

const plan = z.string().min(1).max(256).describe('Name of the plan that applies, where the policy has plans.');

export const timeoutMs: z.ZodNumber = whole(1, TIMEOUT_MAX_MS).describe(
  "A shorter time limit for this call than the policy's, in milliseconds.",
);

/** One subject of a policy, and what it is asked for. */
export const check: {
  readonly policy: z.ZodString;
  readonly subject: z.ZodType<string | readonly string[]>;
  readonly cost: z.ZodOptional<z.ZodNumber>;
  readonly plan: z.ZodOptional<z.ZodString>;
} = {
  policy: policyName,
  subject,
  cost: cost.optional(),
  plan: plan.optional(),
};

export const holdMs: z.ZodNumber = whole(1, HOLD_MAX_MS).describe(
  'How long the reservation holds, in milliseconds; 5 minutes when left out.',
);

export const onExpiry: z.ZodType<Expiry> = z
  .enum(['release', 'keep'])
  .describe('What becomes of a reservation that nobody settles in time: `release` gives it back, `keep` leaves it.');

const waitMs = whole(0).nullable();

export const limitState: z.ZodType = z
  .object({
    id: z.string().describe('Id of the limit inside its policy.'),
    limit: whole(0).describe('Largest cost that it can ever admit at once.'),
    windowMs: whole(0).describe('Its window, or the time to fill an empty bucket.'),
    remaining: whole(0).describe('Cost that is still available now.'),
    retryAfterMs: waitMs.describe('0 when it admits the call, else until it would; `null` when it never can.'),
    resetAfterMs: whole(0).describe('Until it is as if unused.'),
    nextAfterMs: whole(0).describe('Until `remaining` grows.'),
  })
  .meta({ id: 'LimitState' });

const reasons = ['limit-exceeded', 'cost-exceeds-limit', 'blocked', 'store-unavailable', 'too-many-waiting'] as const;

const causes = ['timeout', 'unavailable', 'misconfigured', 'aborted', 'breaker-open', 'overloaded'] as const;

const degraded = z
  .object({
    mode: z.enum(['local', 'open', 'closed']).describe("The policy's `onStoreFailure`."),
    cause: z.enum(causes).describe('Why the store did not decide.'),
  })
  .describe('Set when the store did not make this decision.');

/** The part of a decision by which it can be taken back: what `refund` and `settle` read. */
const traced = {
  allowed: z.boolean().describe('Whether the call may go on.'),
  policy: policyName,
  subject: z.string().min(1).describe('Who was counted.'),
  cost: whole(0).describe('What was charged if allowed.'),
  id: z
    .string()
    .regex(/^\.?[0-9a-z]{1,64}(?:\.[0-9a-z]{1,2})?$/)
    .describe('Unique per decision.'),
  atUs: whole(0).describe('When it was made by the deciding clock, in microseconds since 1970; 0 when nobody counted.'),
  degraded: degraded.optional(),
};

const decisionFields = {
  ...traced,
  reason: z.enum(reasons).optional().describe('Why not; left out when allowed.'),
  retryAfterMs: waitMs.describe('0 when allowed, else when to try again; `null` when waiting does not help.'),
  limits: z.array(limitState).describe("The policy's limits afterwards; empty when nobody counted."),
};

export const decision: z.ZodType = z.object(decisionFields).meta({ id: 'Decision' });
export const reservation: z.ZodType = z.object({ ...decisionFields, holdMs, onExpiry }).meta({ id: 'Reservation' });

type Expiry = 'release' | 'keep';

/** A decision that came back from its caller. */
export interface ReturnedDecision extends Pick<Decision, 'allowed' | 'policy' | 'subject' | 'cost' | 'id' | 'atUs'> {
  readonly limits: readonly Pick<LimitState, 'id' | 'limit' | 'windowMs'>[];
  readonly degraded?: Pick<Degraded, 'mode' | 'cause'> | undefined;
  readonly holdMs?: number | undefined;
  readonly onExpiry?: Expiry | undefined;
}

export interface ReturnedReservation extends ReturnedDecision {
  readonly holdMs: number;
  readonly onExpiry: Expiry;
}

/** A state that came back: only ids and numbers of the limit matter, the rest may have been dropped. */
const returnedState = z.object({ id: z.string().max(64), limit: whole(0), windowMs: whole(0) });
const returnedLimits = z.array(returnedState).max(64).describe('Of each limit only these three matter.');

export const returnedDecision: z.ZodType<ReturnedDecision> = z
  .object({ ...traced, limits: returnedLimits, holdMs: holdMs.optional(), onExpiry: onExpiry.optional() })
  .describe('The decision or reservation as it was answered. Any instance takes it.');

export const returnedReservation: z.ZodType<ReturnedReservation> = z
  .object({ ...traced, limits: returnedLimits, holdMs, onExpiry })
  .describe('The reservation as it was answered. Any instance takes it.');
