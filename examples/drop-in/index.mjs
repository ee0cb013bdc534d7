// express-rate-limit as it is, on a store of comporta: an exact sliding window of 5 requests in 10 seconds.
// With REDIS_URL every process that uses the same Redis counts together.
import { comportaStore } from 'comporta/express-rate-limit';
import { redisStore } from 'comporta/redis';
import express from 'express';
import { rateLimit } from 'express-rate-limit';

const { REDIS_URL, PORT = 3000 } = process.env;
const store = REDIS_URL === undefined ? comportaStore() : comportaStore({ store: redisStore(REDIS_URL), name: 'api' });

const app = express();
app.use(rateLimit({ store, limit: 5, windowMs: 10_000, standardHeaders: 'draft-8', legacyHeaders: false }));
app.get('/', (_request, response) => void response.send('hello\n'));

app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${PORT}/; done`);
});
