// Run by Bun: `bun examples/elysia/index.ts`
import { tokenBucket } from 'comporta';
import { rateLimit } from 'comporta/elysia';
import { Elysia } from 'elysia';

const port = Number(process.env.PORT ?? 3000);
new Elysia()
  .use(rateLimit({ name: 'per-client', limits: tokenBucket({ capacity: 5, refill: 1, every: '1s' }) }))
  .get('/', () => 'hello\n')
  .listen({ port, hostname: '127.0.0.1' });
console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
