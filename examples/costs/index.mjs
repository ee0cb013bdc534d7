// Requests that cost what their bodies ask for: a batch its items, a GraphQL query its fields.
import { fixedWindow, tokenBucket } from 'comporta';
import { rateLimit } from 'comporta/express';
import express from 'express';
import { costOfQuery } from './query-cost.mjs';

const app = express();
// Costs need the parsed body, so parsing comes first, also for requests that will be refused: bound it.
app.use(express.json({ limit: '100kb' }));
app.use(
  rateLimit({
    policies: [
      { name: 'pages', match: { path: '/' }, limits: fixedWindow({ limit: 5, window: '1m' }) },
      {
        name: 'batch',
        match: { path: '/batch', methods: ['POST'] },
        limits: tokenBucket({ capacity: 100, refill: 10, every: '1s' }),
        cost: ({ request }) => (Array.isArray(request.body) ? request.body.length : 1),
      },
      {
        name: 'graphql',
        match: { path: '/graphql', methods: ['POST'] },
        limits: tokenBucket({ capacity: 500, refill: 500, every: '1m' }),
        cost: ({ request }) => costOfQuery(request.body),
      },
    ],
  }),
);
app.get('/', (_request, response) => void response.send('hello\n'));
app.post('/batch', (request, response) => void response.json({ items: request.body.length }));
app.post('/graphql', (_request, response) => void response.json({ data: {} }));

const port = Number(process.env.PORT ?? 3000);
app.listen(port, '127.0.0.1', (error) => {
  if (error) throw error;
  const query = JSON.stringify({ query: '{ users(first: 20) { name friends(first: 10) { name } } }' });
  console.log(`try: curl -si http://127.0.0.1:${port}/graphql -H 'content-type: application/json' -d '${query}'`);
});
