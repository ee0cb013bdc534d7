import { Readable } from 'node:stream';
import { rateLimit } from 'comporta/koa';
import type { StartApp } from 'comporta/testing';
import Koa from 'koa';
import { started } from '../serve.js';

export const start: StartApp = async (options, answer) => {
  const app = new Koa();
  app.silent = true;
  app.use(rateLimit(options));
  app.use((ctx) => {
    const { status, body, isEndless } = answer(ctx.path);
    ctx.status = status;
    ctx.body = isEndless ? partOf(body) : body;
  });
  return started(app.callback());
};

function partOf(body: string): Readable {
  const part = new Readable({ read: () => undefined });
  part.push(body);
  return part;
}
