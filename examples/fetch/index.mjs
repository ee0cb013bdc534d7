// A web-standard handler, as Bun, Deno and edge runtimes take it; here Node's own server calls it.
import { createServer } from 'node:http';
import { tokenBucket } from 'comporta';
import { withRateLimit } from 'comporta/fetch';

const handler = withRateLimit(() => new Response('hello\n'), {
  name: 'per-client',
  limits: tokenBucket({ capacity: 5, refill: 1, every: '1s' }),
  clientAddress: (_request, peer) => peer,
});

const port = Number(process.env.PORT ?? 3000);
const server = createServer(async ({ method, url, headers, socket }, outgoing) => {
  const request = new Request(`http://127.0.0.1:${port}${url}`, { method, headers: Object.entries(headers) });
  const response = await handler(request, socket.remoteAddress);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(await response.text());
});
server.listen(port, '127.0.0.1', () => {
  console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
});
