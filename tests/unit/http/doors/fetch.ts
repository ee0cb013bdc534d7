import { withRateLimit } from 'comporta/fetch';
import type { StartApp } from 'comporta/testing';
import { started, webListener } from '../serve.js';
import { webAnswer } from '../web-answer.js';

export const start: StartApp = async (options, answer) => {
  const handle = (request: Request, _peer: string | undefined) => webAnswer(answer(new URL(request.url).pathname));
  const clientAddress = (_: Request, peer: string | undefined) => peer;
  return started(webListener(withRateLimit(handle, { ...options, clientAddress })));
};
