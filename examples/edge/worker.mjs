// A module as Cloudflare Workers takes it. Five requests at once for each client, counted by the service at LIMITS_URL.
import { tokenBucket } from 'comporta';
import { withRateLimit } from 'comporta/fetch';
import { httpStore } from 'comporta/http-store';

const limits = tokenBucket({ capacity: 5, refill: 1, every: '1s' });

const start = ({ LIMITS_URL, LIMITS_TOKEN }) =>
  withRateLimit(() => new Response('hello\n'), {
    name: 'edge',
    limits,
    store: httpStore(LIMITS_URL, { token: LIMITS_TOKEN }),
    clientAddress: 'cloudflare',
    // The way to the service and back is longer than to a Redis next door.
    timeoutMs: 500,
  });

let limited;

export default {
  fetch(request, env, context) {
    // Once for all requests: breakers and what is known of the store belong to the whole isolate.
    limited ??= start(env);
    return limited(request, env, context);
  },
};
