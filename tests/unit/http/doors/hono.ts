import { getRequestListener } from '@hono/node-server';
import { rateLimit } from 'comporta/hono';
import type { StartApp } from 'comporta/testing';
import { Hono } from 'hono';
import { started } from '../serve.js';
import { webAnswer } from '../web-answer.js';

export const start: StartApp = async (options, answer) => {
  const app = new Hono().use(rateLimit(options)).all('*', (context) => webAnswer(answer(context.req.path)));
  return started(getRequestListener(app.fetch));
};
