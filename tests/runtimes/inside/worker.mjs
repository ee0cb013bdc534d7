// A Worker behind the fetch adapter, and what a test may ask about it.
import { fixedWindow } from 'comporta';
import { withRateLimit } from 'comporta/fetch';
import { rateLimit } from 'comporta/hono';
import { redisStore } from 'comporta/redis';
import { Hono } from 'hono';

const ended = [];
let kept = 0;

function count({ status, aborted }) {
  ended.push({ status, aborted });
  return 1;
}

function stream(parts) {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const send = async () => {
    for (const part of parts) await writer.write(new TextEncoder().encode(part));
    await writer.close();
  };
  void send();
  return new Response(readable);
}

function upgrade() {
  const [client, server] = Object.values(new WebSocketPair());
  server.accept();
  server.addEventListener('message', ({ data }) => server.send(`echo ${data}`));
  return new Response(null, { status: 101, webSocket: client });
}

const limited = withRateLimit(
  async (request, _env, _context) => {
    const { pathname } = new URL(request.url);
    if (pathname === '/stream') return stream(['a', 'b', 'c']);
    if (pathname === '/socket') return upgrade();
    return new Response('hello');
  },
  {
    name: 'per-client',
    limits: fixedWindow({ limit: 3, window: '1d' }),
    clientAddress: 'cloudflare',
    count,
  },
);

const hono = new Hono()
  .use(rateLimit({ name: 'hono', limits: fixedWindow({ limit: 1, window: '1d' }), clientAddress: 'cloudflare', count }))
  .get('/hono', ({ text }) => text('hello'));

function refusalOf(what) {
  try {
    what();
    return { code: 'none' };
  } catch ({ code, message }) {
    return { code, message };
  }
}

export default {
  fetch(request, env, context) {
    const { pathname } = new URL(request.url);
    if (pathname === '/ended') return Response.json({ ended, kept });
    if (pathname === '/redis') return Response.json(refusalOf(() => redisStore('redis://127.0.0.1:6379')));
    const waitUntil = (work) => {
      kept++;
      context.waitUntil(work);
    };
    const own = { waitUntil, passThroughOnException() {} };
    return pathname === '/hono' ? hono.fetch(request, env, own) : limited(request, env, own);
  },
};
