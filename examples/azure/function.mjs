// A function of Azure, in the Node.js programming model 4.
import { app } from '@azure/functions';
import { tokenBucket } from 'comporta';
import { withRateLimit } from 'comporta/azure';

export const handler = withRateLimit(async (request) => ({ jsonBody: { hello: request.url } }), {
  name: 'per-client',
  limits: tokenBucket({ capacity: 5, refill: 1, every: '1s' }),
});

app.http('hello', { methods: ['GET', 'POST'], authLevel: 'anonymous', handler });
