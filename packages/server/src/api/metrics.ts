import type { Route } from './route.js';

/** For Prometheus and whatever reads its text. */
export const metricsRoute: Route = {
  path: '/metrics',
  method: 'GET',
  access: 'token',
  summary: 'Metrics as Prometheus text, or as OpenMetrics where `Accept` asks for it.',
  outcomes: { 200: { means: 'The metrics.', type: 'text/plain' } },
  answer: ({ state, request }) => {
    const { type, body } = state.metrics.text(request.headers.accept);
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
