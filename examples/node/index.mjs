// Plain node:http: 5 requests in any 10 seconds for each client; an upload counts as 3.
import { createServer } from 'node:http';
import { slidingWindow } from 'comporta';
import { withRateLimit } from 'comporta/node';

const listener = withRateLimit((_request, response) => response.end('hello\n'), {
  name: 'per-client',
  limits: slidingWindow({ limit: 5, window: '10s' }),
  cost: ({ method }) => (method === 'POST' ? 3 : 1),
});

const server = createServer(listener);
process.once('SIGTERM', async () => {
  server.close();
  await listener.close();
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, '127.0.0.1', () => {
  console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
});
