// Fastify: 5 requests in any 10 seconds for each client; a search counts as 3, health checks do not count.
import { slidingWindow } from 'comporta';
import { rateLimit } from 'comporta/fastify';
import fastify from 'fastify';

const app = fastify();
await app.register(rateLimit, { name: 'per-client', limits: slidingWindow({ limit: 5, window: '10s' }) });
app.get('/', async () => 'hello\n');
app.get('/search', { config: { rateLimit: { cost: 3 } } }, async () => 'found\n');
app.get('/health', { config: { rateLimit: false } }, async () => 'ok\n');

const port = Number(process.env.PORT ?? 3000);
await app.listen({ port, host: '127.0.0.1' });
console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
