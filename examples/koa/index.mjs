// Koa: 5 requests at once for each client, refilled at 1 per second; health checks are not counted.
import { tokenBucket } from 'comporta';
import { rateLimit } from 'comporta/koa';
import Koa from 'koa';

const app = new Koa();
app.use((ctx, next) => {
  if (ctx.path !== '/health') return next();
  ctx.body = 'ok\n';
});
app.use(rateLimit({ name: 'per-client', limits: tokenBucket({ capacity: 5, refill: 1, every: '1s' }) }));
app.use((ctx) => {
  ctx.body = 'hello\n';
});

const port = Number(process.env.PORT ?? 3000);
app.listen(port, '127.0.0.1', () => {
  console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
});
