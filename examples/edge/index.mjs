// A service that serves its store, and a worker that counts there; both on Node, each on a port of its own.
import { createServer } from 'node:http';
import { memoryStore } from 'comporta';
import { storeListener } from 'comporta/store-server';
import worker from './worker.mjs';

const listen = (server, port) => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
const portOf = (server) => server.address().port;

// In production the store is a redisStore('redis://...'), and the token a secret.
const LIMITS_TOKEN = process.env.LIMITS_TOKEN ?? 'a-token-for-this-example';
const service = createServer(storeListener(memoryStore(), { token: LIMITS_TOKEN }));
await listen(service, 0);
const env = { LIMITS_TOKEN, LIMITS_URL: `http://127.0.0.1:${portOf(service)}` };

// What the platform does: it names the client, and hands over the bindings and a context.
const platform = createServer(async ({ method, url, headers, socket }, outgoing) => {
  const fields = { ...headers, 'cf-connecting-ip': socket.remoteAddress };
  const request = new Request(`http://${headers.host}${url}`, { method, headers: Object.entries(fields) });
  const response = await worker.fetch(request, env, { waitUntil: () => undefined });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(await response.text());
});
await listen(platform, Number(process.env.PORT ?? 3000));
console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${portOf(platform)}/; done`);
