import { tokenBucket } from 'comporta';
import { rateLimit } from 'comporta/h3';
import { H3, serve } from 'h3';

const app = new H3();
app.use(rateLimit({ name: 'per-client', limits: tokenBucket({ capacity: 5, refill: 1, every: '1s' }) }));
app.get('/', () => 'hello\n');

const port = Number(process.env.PORT ?? 3000);
await serve(app, { port, hostname: '127.0.0.1', silent: true }).ready();
console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
