import { withRateLimit } from 'comporta/node';
import type { StartApp } from 'comporta/testing';
import { started } from '../serve.js';

export const start: StartApp = async (options, answer) =>
  started(
    withRateLimit((request, response) => {
      const { status, body, isEndless } = answer(new URL(request.url ?? '/', 'http://a').pathname);
      response.statusCode = status;
      if (isEndless) response.write(body);
      else response.end(body);
    }, options),
  );
