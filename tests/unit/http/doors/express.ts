import { rateLimit } from 'comporta/express';
import type { StartApp } from 'comporta/testing';
import express from 'express';
import { started } from '../serve.js';

export const start: StartApp = async (options, answer) => {
  const app = express().use(rateLimit(options));
  app.use((request, response) => {
    const { status, body, isEndless } = answer(request.path);
    response.status(status);
    if (isEndless) response.write(body);
    else response.send(body);
  });
  return started(app);
};
