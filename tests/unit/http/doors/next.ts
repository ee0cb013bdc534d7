import { rememberPeers, withRateLimit } from 'comporta/next';
import type { StartApp } from 'comporta/testing';
import { started, webListener } from '../serve.js';
import { webAnswer } from '../web-answer.js';

export const start: StartApp = async (options, answer) => {
  rememberPeers();
  const handle = (request: Request) => webAnswer(answer(new URL(request.url).pathname));
  return started(webListener(withRateLimit(handle, options)));
};
