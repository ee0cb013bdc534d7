import { z } from 'zod';
import { readiness } from '../health/health.js';
import { type Answer, json } from './problem.js';
import type { Route } from './route.js';

const schema = z.object({
  status: z.enum(['pass', 'warn', 'fail']),
  reason: z.string().optional().describe('Why not `pass`.'),
});

/** For orchestrators and load balancers. */
export const healthRoutes: readonly Route[] = [
  {
    path: '/livez',
    method: 'GET',
    access: 'anybody',
    summary: 'Whether the process answers.',
    outcomes: { 200: { means: 'It does.', schema } },
    answer: () => line(200, { status: 'pass' }),
  },
  {
    path: '/readyz',
    method: 'GET',
    access: 'anybody',
    summary: 'Whether the process should get requests.',
    outcomes: {
      200: { means: 'It should; `warn` when the store does not decide and policies do without.', schema },
      503: {
        means: 'It ends, or a policy refuses without the store, which is away, full, read-only, or lacks rights.',
        schema,
        type: 'application/json',
      },
    },
    answer: async ({ state }) => {
      const found = await readiness(state.health);
      return line(found.status === 'fail' ? 503 : 200, found);
    },
  },
];

function line(status: number, value: object): Answer {
  const answer = json(status, value);
  return { ...answer, body: `${answer.body}\n` };
}
