// A function of Google Cloud: its requests are those of Express. Deployed, the framework's own command serves it;
// here its test server does.
import { http } from '@google-cloud/functions-framework';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import { tokenBucket } from 'comporta';
import { rateLimit } from 'comporta/express';

const limiter = rateLimit({ name: 'per-client', limits: tokenBucket({ capacity: 5, refill: 1, every: '1s' }) });

http('hello', (request, response) => limiter(request, response, () => response.send('hello\n')));

const port = Number(process.env.PORT ?? 3000);
getTestServer('hello').listen(port, '127.0.0.1', () => {
  console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
});
