import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { rateLimit as expressLimit } from 'comporta/express';
import { rateLimit as fastifyLimit } from 'comporta/fastify';
import { withRateLimit } from 'comporta/fetch';
import type { StartApp, StartedApp } from 'comporta/testing';
import express from 'express';
import fastify from 'fastify';
import { closeServer, listen, portOf, webListener } from './serve.js';

async function started(listener: RequestListener): Promise<StartedApp> {
  const server = await listen(listener);
  return { url: `http://127.0.0.1:${portOf({ server })}`, close: () => closeServer(server) };
}

/** The application that the published suite asks for, behind each adapter. */
export const doors: Readonly<Record<string, StartApp>> = {
  express: async (options, answer) => {
    const app = express().use(expressLimit(options));
    app.use((request, response) => {
      const { status, body, isEndless } = answer(request.path);
      response.status(status);
      if (isEndless) response.write(body);
      else response.send(body);
    });
    return started(app);
  },
  fastify: async (options, answer) => {
    const app = fastify({ forceCloseConnections: true });
    await app.register(fastifyLimit, options);
    app.all('/*', async (request, reply) => {
      const { status, body, isEndless } = answer(new URL(request.url, 'http://a').pathname);
      reply.code(status);
      if (!isEndless) return body;
      const part = new Readable({ read: () => undefined });
      part.push(body);
      return part;
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { url: `http://127.0.0.1:${portOf(app)}`, close: () => app.close() };
  },
  fetch: async (options, answer) => {
    const handle = (request: Request, _peer: string | undefined): Response => {
      const { status, body, isEndless } = answer(new URL(request.url).pathname);
      if (!isEndless) return new Response(body, { status });
      const start = (controller: ReadableStreamDefaultController) => controller.enqueue(new TextEncoder().encode(body));
      return new Response(new ReadableStream({ start }), { status });
    };
    const clientAddress = (_: Request, peer: string | undefined) => peer;
    return started(webListener(withRateLimit(handle, { ...options, clientAddress })));
  },
};
