import type { Limiter } from 'comporta';
import { z } from 'zod';
import { check, limitState, whole } from '../api/fields.js';
import { type Asked, underRules } from '../api/policies.js';
import { type Answer, json, Refusal } from '../api/problem.js';
import { durationText, oneOrMany } from '../config/fields.js';
import { limitSchema } from '../config/limits.js';
import { inspect, inspection } from './inspect.js';
import { type AdminCall, type AdminRoute, jsonRoute } from './route.js';

const YEARS_10_MS = 10 * 366 * 86_400_000;

const named = { policy: check.policy, subject: check.subject };
const lasting = durationText(1, YEARS_10_MS).describe('How long, such as `10m` or `1h30m`, or whole milliseconds.');
const planName = z.string().min(1).max(256);
const sample = { policy: 'per-key', subject: ['k1'] };

const done = <Shape extends z.ZodRawShape>(means: string, shape: Shape): AdminRoute['outcomes'] => ({
  200: { means, schema: z.object(shape) },
});

const byBody = jsonRoute({
  path: '/admin/subjects/inspect',
  role: 'read',
  summary: 'How one subject stands; changes nothing.',
  body: z.strictObject(named),
  example: sample,
  outcomes: { 200: { means: 'What is known of the subject.', schema: inspection } },
  answer: ({ state }, asked) => inspect(state, asked),
});

const byQuery: AdminRoute = {
  path: '/admin/subjects/{policy}',
  method: 'GET',
  role: 'read',
  summary: 'The same for a subject that is no secret: proxies and shells keep addresses.',
  query: {
    subject: 'The subject as it is, as decisions name it.',
    part: "Instead: the values of the policy's key, one `part` for each, in its order.",
  },
  outcomes: { 200: { means: 'What is known of the subject.', schema: inspection } },
  answer: ({ state, query, policy }) => inspect(state, { policy, subject: subjectIn(query) }),
};

const reset = jsonRoute({
  path: '/admin/subjects/reset',
  role: 'operate',
  summary: 'Forgets what a subject has used, and its block. An override stays.',
  body: z.strictObject(named),
  example: sample,
  outcomes: done('It is done.', { keysRemoved: whole(0).describe('Entries of the store that there were.') }),
  answer: (call, asked) => onSubject(call, asked, (limiter, name) => limiter.reset(name)),
});

const block = jsonRoute({
  path: '/admin/subjects/block',
  role: 'operate',
  summary: 'Refuses a subject for a time. The policy needs `blocks`.',
  body: z.strictObject({ ...named, for: lasting }),
  example: { ...sample, for: '1h' },
  outcomes: needing('blocks', done('It is refused from now on.', { blocked: z.literal(true) })),
  answer: (call, { for: duration, ...asked }) =>
    onSubject(call, asked, async (limiter, name) => {
      needs(call, asked.policy, 'blocks');
      await limiter.block(name, duration);
      return { blocked: true };
    }),
});

const unblock = jsonRoute({
  path: '/admin/subjects/unblock',
  role: 'operate',
  summary: 'Lets a blocked subject in again. The policy needs `blocks`.',
  body: z.strictObject(named),
  example: sample,
  outcomes: needing('blocks', done('It is not blocked.', { wasBlocked: z.boolean() })),
  answer: (call, asked) =>
    onSubject(call, asked, async (limiter, name) => {
      needs(call, asked.policy, 'blocks');
      return { wasBlocked: await limiter.unblock(name) };
    }),
});

const refund = jsonRoute({
  path: '/admin/subjects/refund',
  role: 'operate',
  summary: 'Gives back the newest use of a subject, never more than it has used; of a split one in each of its parts.',
  body: z.strictObject({
    ...named,
    amount: whole(1).describe('How much at most.'),
    plan: planName.optional().describe('Plan whose limits are meant, where the policy has plans.'),
  }),
  example: { ...sample, amount: 1 },
  outcomes: done('It is given back.', { limits: z.array(limitState).describe('The limits afterwards.') }),
  answer: (call, { amount, ...asked }) =>
    onSubject(call, asked, async (limiter, name) => {
      const options = asked.plan === undefined ? {} : { plan: asked.plan };
      return { limits: await limiter.reward(name, amount, options) };
    }),
});

const override = jsonRoute({
  path: '/admin/subjects/override',
  role: 'operate',
  summary: 'Gives a subject a plan or limits of its own for a time. The policy needs `overrides`.',
  body: z
    .strictObject({
      ...named,
      for: lasting,
      plan: planName.optional().describe('Plan whose limits apply to it.'),
      limits: oneOrMany(limitSchema).optional().describe('Limits written as in the file, in place of `plan`.'),
    })
    .refine(
      (given) => (given.plan === undefined) !== (given.limits === undefined),
      'expected plan or limits, not both',
    ),
  example: { ...sample, for: '1d', limits: { tokenBucket: { capacity: 100, refill: 100, every: '1s' } } },
  outcomes: needing('overrides', done('Its limits apply from now on.', { overridden: z.literal(true) })),
  answer: (call, { for: lasts, limits, plan, ...asked }) =>
    onSubject(call, asked, async (limiter, name) => {
      needs(call, asked.policy, 'overrides');
      await limiter.setOverride(name, limits === undefined ? { plan: plan ?? '' } : { limits }, lasts);
      return { overridden: true };
    }),
});

const removeOverride = jsonRoute({
  path: '/admin/subjects/remove-override',
  role: 'operate',
  summary: "Lets the policy's own limits apply again. The policy needs `overrides`.",
  body: z.strictObject(named),
  example: sample,
  outcomes: needing('overrides', done('They apply.', { wasOverridden: z.boolean() })),
  answer: (call, asked) =>
    onSubject(call, asked, async (limiter, name) => {
      needs(call, asked.policy, 'overrides');
      return { wasOverridden: await limiter.removeOverride(name) };
    }),
});

/** The routes that look at one subject or change it. */
export const subjectRoutes: readonly AdminRoute[] = [
  byBody,
  byQuery,
  reset,
  block,
  unblock,
  refund,
  override,
  removeOverride,
];

function onSubject(
  { state }: AdminCall,
  asked: Asked,
  run: (limiter: Limiter, subject: string) => Promise<object>,
): Promise<Answer> {
  return underRules(state.engine, async (policies) => {
    const { limiter, subject: name } = policies.check(asked);
    return json(200, { policy: asked.policy, subject: name, ...(await run(limiter, name)) });
  });
}

function needing(field: string, outcomes: AdminRoute['outcomes']): AdminRoute['outcomes'] {
  return { ...outcomes, 409: { means: `The policy does not have \`${field}\`.` } };
}

/** Throws a {@link Refusal} where the file does not let subjects of the policy be treated so. */
function needs({ state }: AdminCall, policy: string, field: 'blocks' | 'overrides'): void {
  const settings = state.engine.config.gate.policies.find(({ name }) => name === policy);
  if (settings?.[field] !== undefined && settings[field] !== false) return;
  const fix =
    settings?.split === undefined
      ? `add ${field}: true to it in the file.`
      : `it has split, which cannot be combined with ${field}; take split out, or give them a policy each.`;
  const detail = `The policy ${JSON.stringify(policy)} does not have ${field}: ${fix}`;
  throw new Refusal(409, detail, { field: 'policy' });
}

function subjectIn(query: URLSearchParams): string | readonly string[] {
  const [text, ...more] = query.getAll('subject');
  const parts = query.getAll('part');
  if (text !== undefined && more.length === 0 && parts.length === 0 && text !== '') return text;
  if (text === undefined && parts.length > 0) return parts;
  throw new Refusal(400, 'subject: expected one subject, or a part for each value of the key', { field: 'subject' });
}
