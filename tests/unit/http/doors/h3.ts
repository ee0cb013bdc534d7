import { rateLimit } from 'comporta/h3';
import type { StartApp } from 'comporta/testing';
import { H3 } from 'h3';
import { toNodeHandler } from 'h3/node';
import { started } from '../serve.js';
import { webAnswer } from '../web-answer.js';

export const start: StartApp = async (options, answer) => {
  const app = new H3().use(rateLimit(options)).all('/**', (event) => webAnswer(answer(event.url.pathname)));
  return started(toNodeHandler(app) as never);
};
