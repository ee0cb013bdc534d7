import { serve } from '@hono/node-server';
import { tokenBucket } from 'comporta';
import { rateLimit } from 'comporta/hono';
import { Hono } from 'hono';

const app = new Hono();
app.use(rateLimit({ name: 'per-client', limits: tokenBucket({ capacity: 5, refill: 1, every: '1s' }) }));
app.get('/', (context) => context.text('hello\n'));

const port = Number(process.env.PORT ?? 3000);
serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () => {
  console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
});
