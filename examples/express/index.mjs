// Express: 5 requests at once for each client, refilled at 1 per second; health checks are not counted.
import { tokenBucket } from 'comporta';
import { rateLimit } from 'comporta/express';
import express from 'express';

const app = express();
app.get('/health', (_request, response) => void response.send('ok\n'));
app.use(rateLimit({ name: 'per-client', limits: tokenBucket({ capacity: 5, refill: 1, every: '1s' }) }));
app.get('/', (_request, response) => void response.send('hello\n'));

const port = Number(process.env.PORT ?? 3000);
app.listen(port, '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
});
