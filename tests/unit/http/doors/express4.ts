import { createRequire } from 'node:module';
import { rateLimit } from 'comporta/express';
import type { StartApp } from 'comporta/testing';
import { started } from '../serve.js';

const require = createRequire(import.meta.url);
const express = require('express4') as typeof import('express');

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
