import { Readable } from 'node:stream';
import { rateLimit } from 'comporta/fastify';
import type { StartApp } from 'comporta/testing';
import fastify from 'fastify';
import { portOf } from '../serve.js';

export const start: StartApp = async (options, answer) => {
  const app = fastify({ forceCloseConnections: true });
  await app.register(rateLimit, options);
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
};
