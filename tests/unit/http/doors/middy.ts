import middy from '@middy/core';
import { rateLimitMiddleware } from 'comporta/lambda';
import type { StartApp } from 'comporta/testing';
import { lambdaFront } from '../../../support/lambda-front.js';
import { started } from '../serve.js';

export const buffers = 'a function answers as a whole, and goes on when its client has left';

export const start: StartApp = async (options, answer) => {
  const handle = async (event: { readonly rawPath: string }) => {
    const { status, body } = answer(event.rawPath);
    return { statusCode: status, body };
  };
  return started(lambdaFront('http', middy(handle).use(rateLimitMiddleware(options))));
};
