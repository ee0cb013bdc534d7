import { z } from 'zod';
import { limitState, whole } from '../api/fields.js';
import { type Asked, underRules } from '../api/policies.js';
import { type Answer, json } from '../api/problem.js';
import { readOverride } from './override.js';
import type { AdminState } from './state.js';
import { hashOf } from './subject-name.js';

/** What is answered of one subject. */
export const inspection: z.ZodType = z.object({
  policy: z.string(),
  subject: z.string().describe('The subject as decisions name it.'),
  hash: z.string().describe('Its name where this process shows subjects hashed.'),
  allowed: z.boolean().describe('A request of cost 1 would pass now.'),
  reason: z.string().optional().describe('Why not.'),
  retryAfterMs: whole(0).nullable().describe('0 when it would pass; `null` when waiting does not help.'),
  blocked: z
    .object({ forMs: whole(0) })
    .nullable()
    .describe('How long it stays blocked; `null` when it is not.'),
  override: z.looseObject({}).nullable().describe('Its own `plan` or `limits`; `null` without any.'),
  limits: z.array(limitState).describe('The limits that apply to it; empty while it is blocked.'),
  degraded: z
    .object({ mode: z.string(), cause: z.string() })
    .optional()
    .describe('The store did not answer: this is what this process knows alone.'),
});

/** How one subject stands; changes nothing. */
export function inspect(state: AdminState, asked: Asked): Promise<Answer> {
  return underRules(state.engine, async (policies) => {
    const { limiter, subject } = policies.check(asked);
    const settings = state.engine.config.gate.policies.find(({ name }) => name === asked.policy);
    const decision = await limiter.peek(subject);
    const { allowed, reason, retryAfterMs, limits, degraded } = decision;
    const isAsked = settings?.overrides === true && degraded === undefined;
    const override = isAsked ? await readOverride(state.engine.store, limiter, subject) : undefined;
    return json(200, {
      policy: asked.policy,
      subject,
      hash: hashOf(subject),
      allowed,
      ...(reason !== undefined && { reason }),
      retryAfterMs,
      blocked: reason === 'blocked' ? { forMs: retryAfterMs ?? 0 } : null,
      override: override ?? null,
      limits,
      ...(degraded !== undefined && { degraded: { mode: degraded.mode, cause: degraded.cause } }),
    });
  });
}
