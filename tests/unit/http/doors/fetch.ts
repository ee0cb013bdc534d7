import { withRateLimit } from 'comporta/fetch';
import type { StartApp } from 'comporta/testing';
import { started, webListener } from '../serve.js';

export const start: StartApp = async (options, answer) => {
  const handle = (request: Request, _peer: string | undefined): Response => {
    const { status, body, isEndless } = answer(new URL(request.url).pathname);
    if (!isEndless) return new Response(body, { status });
    const start = (controller: ReadableStreamDefaultController) => controller.enqueue(new TextEncoder().encode(body));
    return new Response(new ReadableStream({ start }), { status });
  };
  const clientAddress = (_: Request, peer: string | undefined) => peer;
  return started(webListener(withRateLimit(handle, { ...options, clientAddress })));
};
