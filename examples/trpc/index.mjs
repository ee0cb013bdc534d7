// tRPC: 5 calls at once for each client, refilled at 1 per second; health checks are not counted.
import { createServer } from 'node:http';
import { initTRPC } from '@trpc/server';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';
import { tokenBucket } from 'comporta';
import { RateLimitRefusal, rateLimit } from 'comporta/trpc';

const t = initTRPC.create({
  // Clients read the exact wait at `error.shape.retryAfterMs`.
  errorFormatter: ({ shape, error: { cause } }) =>
    cause instanceof RateLimitRefusal ? { ...shape, retryAfterMs: cause.retryAfterMs } : shape,
});
const limited = t.procedure.use(
  rateLimit({ name: 'per-client', limits: tokenBucket({ capacity: 5, refill: 1, every: '1s' }) }),
);
const router = t.router({
  hello: limited.query(() => 'hello'),
  health: t.procedure.query(() => 'ok'),
});

const handler = createHTTPHandler({ router, createContext: ({ req, res }) => ({ req, res }) });
const port = Number(process.env.PORT ?? 3000);
createServer((request, response) => {
  // So that the bare address says something too.
  if (request.url === '/') request.url = '/hello';
  handler(request, response);
}).listen(port, '127.0.0.1', () => {
  console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/hello; done`);
});
