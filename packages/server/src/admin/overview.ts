import { z } from 'zod';
import { whole } from '../api/fields.js';
import { json, Refusal } from '../api/problem.js';
import { describeStore } from '../cli/describe.js';
import type { ServerConfig } from '../config/config.js';
import { nearest } from '../config/nearest.js';
import { readiness } from '../health/health.js';
import { mergeNodes } from '../workers/merge-nodes.js';
import { mergeRankings } from '../workers/merge-ranking.js';
import { adviser } from './advice.js';
import type { AdminCall, AdminRoute } from './route.js';
import { subjectName } from './subject-name.js';

const COUNT_MAX = 1000;
const COUNT = 20;
const TOP_ASKED = 256;

const written = z.looseObject({});

const policyInForce = z.strictObject({
  name: z.string(),
  key: z.array(z.string()).describe('Who is counted.'),
  limits: z.array(written).describe('As the file writes them.'),
  match: written.optional().describe('Requests that it applies to; all when left out.'),
  mode: z.enum(['local', 'open', 'closed']).describe('What it does when the store does not answer.'),
  timeoutMs: whole(1),
  revision: whole(0).nullable().describe('`null` when the file gives none.'),
  shadow: z.union([z.boolean(), written]).describe('Reports and does not refuse: nobody, all, or a `percent`.'),
  plans: z.record(z.string(), z.array(written)).optional().describe('Limits of further plans, by name.'),
  blocks: z.union([z.boolean(), written]).describe('Subjects can be blocked.'),
  overrides: z.boolean().describe('Subjects can have limits of their own.'),
});

const entry = z.strictObject({
  time: z.string(),
  who: z.string().describe('Name of the token.'),
  operation: z.string().describe('Last part of the path.'),
  policy: z.string().optional(),
  subject: z.string().optional().describe('Hashed or plain: `admin.auditSubjects`.'),
  details: z.string().optional().describe('What else was asked for, as JSON.'),
  result: z.enum(['done', 'refused', 'failed']),
  status: whole(0).describe('Status of the answer.'),
});

const policies: AdminRoute = {
  path: '/admin/policies',
  method: 'GET',
  role: 'read',
  summary: 'The policies in force.',
  outcomes: {
    200: {
      means: 'All of them, in the order of the file.',
      schema: z.strictObject({ policies: z.array(policyInForce) }),
    },
  },
  answer: ({ state }) => json(200, { policies: policiesOf(state.engine.config) }),
};

function policiesOf({ gate }: ServerConfig): readonly object[] {
  return gate.policies.map(({ name, key, limits, match, onStoreFailure, timeoutMs, shadow, ...more }) => ({
    name,
    key: [key ?? 'ip'].flat(),
    limits: writtenLimits(limits),
    ...(match !== undefined && { match }),
    mode: onStoreFailure ?? gate.onStoreFailure ?? 'local',
    timeoutMs: timeoutMs ?? gate.timeoutMs,
    revision: more.revision ?? null,
    shadow: shadow ?? false,
    ...(more.plans !== undefined && { plans: plansOf(more.plans) }),
    blocks: more.blocks ?? false,
    overrides: more.overrides ?? false,
  }));
}

type Limits = ServerConfig['gate']['policies'][number]['limits'];

const plansOf = (plans: Readonly<Record<string, Limits>>): object =>
  Object.fromEntries(Object.entries(plans).map(([name, limits]) => [name, writtenLimits(limits)]));

/** Limits as a file writes them. */
function writtenLimits(limits: Limits): readonly object[] {
  return [limits].flat().map(({ id, algorithm, settings }) => ({
    ...(id !== undefined && { id }),
    [algorithm.name]: settings,
  }));
}

const nodes: AdminRoute = {
  path: '/admin/nodes',
  method: 'GET',
  role: 'read',
  summary: 'The store, and what this server has seen of its nodes.',
  outcomes: {
    200: {
      means: 'Nodes that never failed this server have no breaker in the list.',
      schema: z.object({
        store: z.object({
          address: z.string().describe('As configured, without credentials.'),
          status: z
            .enum(['pass', 'warn', 'fail'])
            .describe('`fail`: it makes no decisions. `warn`: part of it does not.'),
          reason: z.string().optional(),
        }),
        breakers: z.array(
          z.object({
            node: z.string(),
            timeoutMs: whole(1).describe('Of the policies that the breaker is for.'),
            state: z.enum(['closed', 'open', 'halfOpen']),
            sinceMs: whole(0).describe('When it changed to that, in ms since 1970.'),
          }),
        ),
        failing: z
          .array(
            z.object({ policy: z.string(), node: z.string(), mode: z.string(), cause: z.string(), sinceMs: whole(0) }),
          )
          .describe('Policies whose last decision a node did not make.'),
      }),
    },
  },
  answer: async ({ state }) => {
    const { engine, team } = state;
    const { breakers, failing } = mergeNodes(await team.ask('nodes', undefined));
    const found = await readiness({ store: engine.store, isDraining: () => false, needsStore: () => true });
    const store = { address: describeStore(state.config.store.url), ...found };
    return json(200, { store, breakers, failing });
  },
};

const top: AdminRoute = {
  path: '/admin/top',
  method: 'GET',
  role: 'read',
  summary: 'The hottest subjects that this server has decided for in the last one to two minutes.',
  query: {
    by: '`requests` (default) or `refusals`.',
    policy: 'One policy; all when left out.',
    count: `How many: 1 to ${COUNT_MAX}, ${COUNT} when left out.`,
  },
  outcomes: {
    200: {
      means: 'The most frequent first. Each was counted at least `count - error` and at most `count` times.',
      schema: z.object({
        by: z.enum(['requests', 'refusals']),
        sinceMs: whole(0).describe('When counting began, in ms since 1970.'),
        nowMs: whole(0),
        total: whole(0).describe('Requests or refusals of all subjects.'),
        subjects: z.array(
          z.object({
            policy: z.string(),
            subject: z.string(),
            count: whole(0),
            error: whole(0),
            advice: z
              .string()
              .optional()
              .describe('What helps where this server alone asks more of the subject than one master decides.'),
          }),
        ),
      }),
    },
  },
  answer: async ({ state, query }) => {
    const by = query.get('by') ?? 'requests';
    if (by !== 'requests' && by !== 'refusals') {
      throw new Refusal(400, 'by: expected requests or refusals', { field: 'by' });
    }
    const count = countIn(query);
    const policy = query.get('policy') ?? undefined;
    // Who names more leaves less to guess for the others.
    const asked = { by, count: Math.max(count, TOP_ASKED), policy } as const;
    const { subjects, policies, total, sinceMs, nowMs } = mergeRankings(await state.team.ask('ranking', asked), count);
    checkPolicy(policy, state, policies);
    const advised = by === 'requests' ? await adviser(state, subjects, (nowMs - sinceMs) / 1000) : undefined;
    const named = subjects.map(({ item, ...each }) => {
      const advice = advised?.({ item, ...each });
      return {
        policy: each.policy,
        subject: subjectName(item, state.settings.topSubjects),
        count: each.count,
        error: each.error,
        ...(advice !== undefined && { advice }),
      };
    });
    return json(200, { by, total, sinceMs, nowMs, subjects: named });
  },
};

const audit: AdminRoute = {
  path: '/admin/audit',
  method: 'GET',
  role: 'read',
  summary: 'The last 1000 operations at this server, and the last 100 refused ones, the newest first.',
  query: { count: `How many: 1 to ${COUNT_MAX}, ${COUNT} when left out.` },
  outcomes: {
    200: {
      means: 'Who did what, and what came of it.',
      schema: z.strictObject({ entries: z.array(entry) }),
    },
  },
  answer: async ({ state, query }) => json(200, { entries: (await state.team.ask('audit', countIn(query))).flat() }),
};

/** The routes that look at the whole. */
export const overviewRoutes: readonly AdminRoute[] = [policies, nodes, top, audit];

function countIn(query: URLSearchParams): number {
  const text = query.get('count');
  const count = text === null ? COUNT : /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= COUNT_MAX) return count;
  throw new Refusal(400, `count: expected a whole number from 1 to ${COUNT_MAX}`, { field: 'count' });
}

/** Domains of the rate limit service count as policies here, so any may be counted that the file does not name. */
function checkPolicy(name: string | undefined, { engine }: AdminCall['state'], counted: readonly string[]): void {
  if (name === undefined) return;
  const known = [...new Set([...engine.config.gate.policies.map((policy) => policy.name), ...counted])];
  if (known.includes(name)) return;
  const guess = nearest(name.slice(0, 64), known);
  const hint = guess === undefined ? '' : `; did you mean ${JSON.stringify(guess)}?`;
  throw new Refusal(404, `policy: there is no policy ${JSON.stringify(name)}${hint}`, { field: 'policy' });
}
