import { metricsText } from '../metrics/text.js';
import { entriesOf, mergeMetrics } from '../workers/merge-metrics.js';
import { problemSchema } from './problem.js';
import type { Route } from './route.js';

/** For Prometheus and whatever reads its text. */
export const metricsRoute: Route = {
  path: '/metrics',
  method: 'GET',
  access: 'token',
  summary: 'Metrics as Prometheus text, or as OpenMetrics where `Accept` asks for it.',
  outcomes: {
    200: { means: 'The metrics.', type: 'text/plain' },
    503: { means: 'Other workers did not answer in time.', schema: problemSchema, type: 'application/problem+json' },
  },
  answer: async ({ state, request }) => {
    const { type, body } = metricsText(
      entriesOf(mergeMetrics(await state.team.ask('metrics', undefined))),
      request.headers.accept,
    );
    return {
      status: 200,
      headers: [
        ['content-type', type],
        ['cache-control', 'no-store'],
      ],
      body,
    };
  },
};
