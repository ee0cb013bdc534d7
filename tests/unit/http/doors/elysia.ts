import { rateLimit } from 'comporta/elysia';
import type { StartApp } from 'comporta/testing';
import { Elysia } from 'elysia';
import { started, webListener } from '../serve.js';
import { webAnswer } from '../web-answer.js';

/** On Node the address is where srvx leaves it. */
export const start: StartApp = async (options, answer) => {
  const app = new Elysia().use(rateLimit(options)).all('/*', ({ path }) => webAnswer(answer(path)));
  return started(webListener((request, ip) => app.handle(Object.assign(request, { ip }))));
};
