// Calls a third party that takes two requests a second and waits for its turn. Stands in for it here: a small server.
import { createServer } from 'node:http';
import { createLimiter, tokenBucket } from 'comporta';
import { withRateLimit } from 'comporta/fetch';
import { limitFetch } from 'comporta/outbound';

const answer = withRateLimit(() => new Response('hello'), {
  name: 'default',
  limits: tokenBucket({ capacity: 2, refill: 2, every: '1s' }),
  clientAddress: () => '127.0.0.1',
});
const thirdParty = createServer(async (incoming, outgoing) => {
  const response = await answer(new Request(`http://127.0.0.1${incoming.url}`));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
});
await new Promise((resolve) => thirdParty.listen(Number(process.env.PORT ?? 0), '127.0.0.1', resolve));
const url = `http://127.0.0.1:${thirdParty.address().port}/`;

// On one Redis (store: redisStore(...)) all processes with this policy keep the limit together.
const limiter = createLimiter({ policy: 'third-party', limits: tokenBucket({ capacity: 1, refill: 2, every: '1s' }) });
const limited = limitFetch(fetch, { limiter, onLimited: (event) => console.log('refused by', event.by) });

const startMs = performance.now();
const send = async (_, i) => {
  const response = await limited(url);
  console.log(
    `${i + 1}: ${response.status} ${await response.text()} after ${Math.round(performance.now() - startMs)} ms`,
  );
};
await Promise.all(Array.from({ length: 6 }, send));
await limiter.close();
thirdParty.close();
