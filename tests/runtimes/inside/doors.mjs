// One application for each runtime and adapter, as the published suite starts them. Packages load when used.
import { createServer } from 'node:http';

const HOST = '127.0.0.1';

/** What an application with web responses answers. */
function web({ status, body, isEndless }) {
  if (!isEndless) return new Response(body, { status });
  const start = (controller) => controller.enqueue(new TextEncoder().encode(body));
  return new Response(new ReadableStream({ start }), { status });
}

const pathOf = (request) => new URL(request.url).pathname;

async function fetchApp(options, answer) {
  const { withRateLimit } = await import('comporta/fetch');
  return withRateLimit((request, _context) => web(answer(pathOf(request))), options);
}

async function honoApp(options, answer) {
  const [{ Hono }, { rateLimit }] = await Promise.all([import('hono'), import('comporta/hono')]);
  return new Hono().use(rateLimit(options)).all('*', ({ req }) => web(answer(req.path)));
}

/** h3 has a server for each runtime. */
async function h3(options, answer) {
  const [{ H3, serve }, { rateLimit }] = await Promise.all([import('h3'), import('comporta/h3')]);
  const app = new H3().use(rateLimit(options)).all('/**', ({ url }) => web(answer(url.pathname)));
  const server = await serve(app, { port: 0, hostname: HOST, silent: true, gracefulShutdown: false }).ready();
  return { url: server.url.replace(/\/$/, ''), close: () => server.close(true) };
}

function bun(handler) {
  const server = Bun.serve({ port: 0, hostname: HOST, fetch: handler });
  return { url: `http://${HOST}:${server.port}`, close: () => server.stop(true) };
}

async function elysia(options, answer) {
  const [{ Elysia }, { rateLimit }] = await Promise.all([import('elysia'), import('comporta/elysia')]);
  const app = new Elysia().use(rateLimit(options)).all('/*', ({ path }) => web(answer(path)));
  app.listen({ port: 0, hostname: HOST });
  return { url: `http://${HOST}:${app.server.port}`, close: () => app.stop(true) };
}

function deno(handler) {
  const controller = new AbortController();
  const server = Deno.serve({ port: 0, hostname: HOST, onListen() {}, signal: controller.signal }, handler);
  const close = () => {
    controller.abort();
    return server.finished;
  };
  return { url: `http://${HOST}:${server.addr.port}`, close };
}

async function node(listener) {
  const server = createServer(listener);
  await new Promise((resolve) => server.listen(0, HOST, resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://${HOST}:${server.address().port}`, close };
}

async function express(options, answer) {
  const [{ default: application }, { rateLimit }] = await Promise.all([import('express'), import('comporta/express')]);
  const app = application().use(rateLimit(options));
  return node(
    app.use((request, response) => {
      const { status, body, isEndless } = answer(request.path);
      response.status(status);
      if (isEndless) response.write(body);
      else response.send(body);
    }),
  );
}

async function honoNode(options, answer) {
  const { getRequestListener } = await import('@hono/node-server');
  return node(getRequestListener((await honoApp(options, answer)).fetch));
}

/** By runtime, then by adapter. */
export const doors = {
  node: { express, hono: honoNode, h3 },
  bun: {
    fetch: async (...args) => bun(await fetchApp(...args)),
    hono: async (...args) => bun((await honoApp(...args)).fetch),
    h3,
    elysia,
  },
  deno: {
    fetch: async (...args) => deno(await fetchApp(...args)),
    hono: async (...args) => deno((await honoApp(...args)).fetch),
    h3,
  },
};
