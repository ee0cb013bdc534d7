// A function behind a function URL or an HTTP API: an exact sliding window on Redis, decided within 50 ms, and
// requests let through, with an alarm, while Redis cannot answer.
import { memoryStore, slidingWindow } from 'comporta';
import { withRateLimit } from 'comporta/lambda';
import { redisStore } from 'comporta/redis';

// At module scope: one client for the life of an environment. Without Redis each environment counts alone.
const store = process.env.REDIS_URL ? redisStore(process.env.REDIS_URL) : memoryStore();
// Connects while the environment starts, which is not the time of a request; goes on without after half a second.
await store.ready(500).catch(() => undefined);

/** A log line that CloudWatch turns into metrics (embedded metric format): nothing to send, nothing to flush. */
function count(policy, name, cause) {
  const CloudWatchMetrics = [
    { Namespace: 'comporta', Dimensions: [['policy']], Metrics: [{ Name: name, Unit: 'Count' }] },
  ];
  console.log(JSON.stringify({ _aws: { Timestamp: Date.now(), CloudWatchMetrics }, policy, [name]: 1, cause }));
}

export const handler = withRateLimit(async (event) => ({ statusCode: 200, body: `hello from ${event.rawPath}\n` }), {
  name: 'per-client',
  key: 'ip',
  limits: slidingWindow({ limit: 5, window: '10s' }),
  store,
  timeoutMs: 50,
  onStoreFailure: 'open',
  onVerdict({ decisions }) {
    for (const { policy, allowed, degraded } of decisions) {
      if (degraded) count(policy, 'degraded', degraded.cause);
      else if (!allowed) count(policy, 'denied');
    }
  },
});
