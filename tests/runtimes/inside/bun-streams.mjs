// What only Bun has: sockets that a handler answers with nothing, and Elysia's own streams and sockets.
import { fixedWindow } from 'comporta';
import { rateLimit } from 'comporta/elysia';
import { withRateLimit } from 'comporta/fetch';
import { Elysia } from 'elysia';

const ended = [];
const options = (name) => ({
  name,
  limits: fixedWindow({ limit: 2, window: '1d' }),
  count: ({ status, aborted }) => {
    ended.push(`${name} ${status} ${aborted ? 'aborted' : 'whole'}`);
    return 1;
  },
});

/** The echo of a socket, or that it was refused. */
function echo(url) {
  const socket = new WebSocket(url);
  return new Promise((resolve) => {
    socket.onopen = () => socket.send('hello');
    socket.onmessage = ({ data }) => {
      resolve(String(data));
      socket.close();
    };
    socket.onerror = () => resolve('refused');
  });
}

const upgrade = (request, server) => (server.upgrade(request) ? undefined : new Response('x', { status: 400 }));
const plain = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: withRateLimit(upgrade, options('fetch')),
  websocket: { message: (socket, text) => void socket.send(text) },
});
const app = new Elysia()
  .use(rateLimit(options('elysia')))
  .ws('/', { message: (socket, text) => void socket.send(text) });
app.get('/parts', function* () {
  yield 'a';
  yield 'b';
});
app.listen({ port: 0, hostname: '127.0.0.1' });

const urls = [`ws://127.0.0.1:${plain.port}/`, `ws://127.0.0.1:${app.server.port}/`];
const parts = await (await fetch(`http://127.0.0.1:${app.server.port}/parts`)).text();
const echoes = [];
for (const url of urls) echoes.push(await echo(url), await echo(url), await echo(url));
console.log(JSON.stringify({ parts, echoes, ended }));
process.exit();
