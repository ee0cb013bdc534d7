// A plan of five calls per day of the customer's time zone, and what the customer is told.
import { createServer } from 'node:http';
import { createLimiter, quota } from 'comporta';

const timeZone = 'America/Sao_Paulo';
const limiter = createLimiter({
  policy: 'free-plan',
  limits: quota({ limit: 5, per: 'day', timeZone }),
  // With a store of its own: `store: redisStore('redis://127.0.0.1:6379')` from 'comporta/redis'.
});

const server = createServer(async ({ headers }, response) => {
  const { allowed, atUs, binding } = await limiter.consume(String(headers['x-api-key'] ?? 'anonymous'));
  const renewed = new Date(atUs / 1000 + binding.resetAfterMs).toLocaleString('en-GB', { timeZone });
  response.writeHead(allowed ? 200 : 429, { 'content-type': 'text/plain' });
  response.end(`${binding.remaining} of ${binding.limit} calls left until ${renewed} in ${timeZone}\n`);
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, '127.0.0.1', () => {
  console.log(`try: for i in 1 2 3 4 5 6; do curl -s http://127.0.0.1:${port}/; done`);
});
