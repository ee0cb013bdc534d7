import { withRateLimit } from 'comporta/azure';
import type { StartApp } from 'comporta/testing';
import { azureFront } from '../../../support/azure-front.js';
import { started } from '../serve.js';

export const buffers = 'a function answers as a whole, and goes on when its client has left';

export const start: StartApp = async (options, answer) => {
  const handle = withRateLimit(
    (request) => {
      const { status, body } = answer(new URL(request.url).pathname);
      return { status, body };
    },
    options as Parameters<typeof withRateLimit>[1],
  );
  return started(azureFront(handle));
};
