import { type Decision, decideAll, decideEach, type LimitState } from 'comporta';
import { z } from 'zod';
import { wordsOfDecisions } from '../access-log/entry.js';
import {
  check,
  decision,
  holdMs,
  limitState,
  onExpiry,
  type ReturnedDecision,
  reservation,
  returnedDecision,
  returnedReservation,
  timeoutMs,
  whole,
} from './fields.js';
import { underRules } from './policies.js';
import { type Answer, json, problemSchema } from './problem.js';
import { jsonRoute, type Outcome, type Route } from './route.js';

const CHECKS_MAX = 100;

const unknownPolicy: Outcome = {
  means: 'There is no such policy; `detail` names the nearest.',
  schema: problemSchema,
  type: 'application/problem+json',
};

const single = z.strictObject({ ...check, timeoutMs: timeoutMs.optional() });
const sample = { policy: 'per-key', subject: ['k1'] };
const sampleState = { id: 'tokenBucket', limit: 10, windowMs: 1000, remaining: 9 };
const sampleDecision = {
  allowed: true,
  policy: 'per-key',
  subject: 'header.x-api-key=k1',
  cost: 1,
  id: 'k3v9x2m0p1',
  atUs: 1_767_225_600_000_000,
  limits: [{ ...sampleState, retryAfterMs: 0, resetAfterMs: 100, nextAfterMs: 100 }],
};

const decided = (schema: z.ZodType, means: string): Route['outcomes'] => ({
  200: { means, schema },
  404: unknownPolicy,
});

const consume = jsonRoute({
  path: '/v1/consume',
  access: 'token',
  summary: 'Decides, and charges what is allowed.',
  body: single,
  example: { ...sample, cost: 1 },
  outcomes: decided(decision, 'The decision: `allowed` says whether to go on.'),
  answer: ({ state }, { timeoutMs: limitMs, ...asked }) =>
    underRules(state.engine, async (policies) => {
      const { limiter, subject, ...options } = policies.check(asked);
      return told(await limiter.consume(subject, { ...options, ...within(limitMs) }));
    }),
});

const peek = jsonRoute({
  path: '/v1/peek',
  access: 'token',
  summary: 'What `consume` would answer now; charges nothing.',
  body: single,
  example: sample,
  outcomes: decided(decision, 'The decision that would be made.'),
  answer: ({ state }, { timeoutMs: limitMs, ...asked }) =>
    underRules(state.engine, async (policies) => {
      const { limiter, subject, ...options } = policies.check(asked);
      return told(await limiter.peek(subject, { ...options, ...within(limitMs) }));
    }),
});

const consumeBatch = jsonRoute({
  path: '/v1/consume-batch',
  access: 'token',
  summary: 'Decides several checks at once.',
  body: z.strictObject({
    checks: z.array(z.strictObject(check)).min(1).max(CHECKS_MAX).describe(`1 to ${CHECKS_MAX} checks.`),
    mode: z
      .enum(['all', 'each'])
      .default('all')
      .describe('`all`: when one refuses nothing is charged. `each`: every check by itself.'),
    timeoutMs: timeoutMs.optional(),
  }),
  example: { checks: [sample, { policy: 'per-key', subject: ['k2'], cost: 2 }], mode: 'all' },
  outcomes: decided(
    z.object({ allowed: z.boolean().describe('All were allowed.'), decisions: z.array(decision) }),
    'The decisions, in the order of the checks.',
  ),
  answer: ({ state }, { checks: asked, mode, timeoutMs: limitMs }) =>
    underRules(state.engine, async (policies) => {
      const checks = asked.map((each, i) => policies.check(each, ['checks', i]));
      const options = within(limitMs);
      const decisions =
        mode === 'each' ? await decideEach(checks, options) : (await decideAll(checks, options)).decisions;
      const allowed = decisions.every((made) => made.allowed);
      const answer = json(200, { allowed, decisions: decisions.map(worded) });
      return { ...answer, words: wordsOfDecisions(decisions, allowed) };
    }),
});

const refund = jsonRoute({
  path: '/v1/refund',
  access: 'token',
  summary: 'Gives back what an allowed decision charged, once.',
  body: z.strictObject({
    decision: returnedDecision,
    amount: whole(0).optional().describe('How much of it; all when left out.'),
  }),
  example: { decision: sampleDecision },
  outcomes: decided(
    z.object({ refunded: z.boolean().describe('False when it no longer counts, or was given back before.') }),
    'Whether something was given back.',
  ),
  answer: ({ state }, { decision: returned, amount }) =>
    underRules(state.engine, async (policies) => {
      const limiter = policies.limiter(returned.policy, ['decision', 'policy']);
      return json(200, { refunded: await limiter.refund(revived(returned), amount) });
    }),
});

const estimate = whole(1).describe("What it is expected to cost, at least 1; the policy's own cost when left out.");

const reserve = jsonRoute({
  path: '/v1/reserve',
  access: 'token',
  summary: 'Decides on an estimate, to be settled with the real cost.',
  body: single.extend({ cost: estimate.optional(), holdMs: holdMs.optional(), onExpiry: onExpiry.optional() }),
  example: { ...sample, cost: 5 },
  outcomes: decided(reservation, 'The decision, to be sent back to `/v1/settle`.'),
  answer: ({ state }, { timeoutMs: limitMs, holdMs: heldMs, onExpiry: then, ...asked }) =>
    underRules(state.engine, async (policies) => {
      const { limiter, subject, ...options } = policies.check(asked);
      const more = { ...(heldMs !== undefined && { holdMs: heldMs }), ...(then !== undefined && { onExpiry: then }) };
      const made = await limiter.reserve(subject, { ...options, ...more, ...within(limitMs) });
      return told(made, { holdMs: made.holdMs, onExpiry: made.onExpiry });
    }),
});

const settle = jsonRoute({
  path: '/v1/settle',
  access: 'token',
  summary: "Puts the real cost in place of a reservation's, once.",
  body: z.strictObject({
    reservation: returnedReservation,
    cost: whole(0).describe('What it cost in the end: less is given back, more is charged. 0 cancels.'),
  }),
  example: { reservation: { ...sampleDecision, cost: 5, holdMs: 300_000, onExpiry: 'release' }, cost: 3 },
  outcomes: decided(
    z.object({
      settled: z.boolean().describe('The real cost stands in place of the estimate.'),
      reason: z
        .enum(['already-settled', 'expired', 'limits-unknown', 'store-unavailable'])
        .optional()
        .describe('Why not.'),
      limits: z.array(limitState).describe('The limits afterwards; empty when unknown.'),
    }),
    'Whether it was settled.',
  ),
  answer: ({ state }, { reservation: returned, cost }) =>
    underRules(state.engine, async (policies) => {
      const limiter = policies.limiter(returned.policy, ['reservation', 'policy']);
      const { holdMs: heldMs, onExpiry: then } = returned;
      return json(200, await limiter.settle({ ...revived(returned), holdMs: heldMs, onExpiry: then }, cost));
    }),
});

/** The routes that decide by policy and subject. */
export const decisionRoutes: readonly Route[] = [consume, consumeBatch, peek, refund, reserve, settle];

const within = (limitMs: number | undefined): { readonly timeoutMs?: number } =>
  limitMs === undefined ? {} : { timeoutMs: limitMs };

/** The answer of one decision, with what the access log says of it. */
const told = (made: Decision, more: object = {}): Answer => ({
  ...json(200, { ...worded(made), ...more }),
  words: wordsOfDecisions([made], made.allowed),
});

/** A decision without what is for logs: the store's own words may name hosts. */
function worded({
  allowed,
  reason,
  policy,
  subject,
  cost,
  retryAfterMs,
  limits,
  degraded,
  id,
  atUs,
}: Decision): object {
  return {
    allowed,
    ...(reason !== undefined && { reason }),
    policy,
    subject,
    cost,
    retryAfterMs,
    limits,
    ...(degraded !== undefined && { degraded: { mode: degraded.mode, cause: degraded.cause } }),
    id,
    atUs,
  };
}

const UNTOLD: Pick<LimitState, 'remaining' | 'retryAfterMs' | 'resetAfterMs' | 'nextAfterMs'> = {
  remaining: 0,
  retryAfterMs: 0,
  resetAfterMs: 0,
  nextAfterMs: 0,
};

/** A decision that came back, as the library knows it; what of it is read, the library checks. */
function revived({ limits, degraded, holdMs: heldMs, onExpiry: then, ...traced }: ReturnedDecision): Decision {
  return {
    ...traced,
    reason: undefined,
    limits: limits.map((state) => ({ ...state, ...UNTOLD })),
    binding: undefined,
    retryAfterMs: 0,
    degraded: degraded === undefined ? undefined : { ...degraded, detail: '' },
    ...(heldMs !== undefined && then !== undefined && { holdMs: heldMs, onExpiry: then }),
  };
}
