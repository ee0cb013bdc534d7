// One framework with one limiter, or none: BENCH_FRAMEWORK, BENCH_LIMITER (bare, ours, theirs), BENCH_REDIS (a port).
import { createServer } from 'node:http';
import { report } from '../lib/http-load.mjs';
import { frameworks } from './frameworks.mjs';

const { BENCH_FRAMEWORK: framework, BENCH_LIMITER: limiter, BENCH_REDIS: redisPort } = process.env;

process.once('SIGINT', () => process.exit(0));
const { bare, ours, theirs } = frameworks[framework];
const app = await { bare, ours, theirs }[limiter](redisPort);
if (typeof app === 'function') {
  const server = createServer({ keepAliveTimeout: 600_000 }, app);
  server.listen(0, '127.0.0.1', () => report(server.address().port));
} else {
  await app.listen({ port: 0, host: '127.0.0.1' });
  report(app.server.address().port);
}
