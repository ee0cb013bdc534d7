import { withRateLimit } from 'comporta/lambda';
import type { StartApp } from 'comporta/testing';
import { lambdaFront } from '../../../support/lambda-front.js';
import { started } from '../serve.js';

export const buffers = 'a function answers as a whole, and goes on when its client has left';

export const start: StartApp = async (options, answer) => {
  const handle = async (event: { readonly path: string }) => {
    const { status, body } = answer(event.path);
    return { statusCode: status, headers: { 'content-type': 'text/plain' }, body };
  };
  return started(lambdaFront('balancer', withRateLimit(handle, options)));
};
