import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Field } from 'comporta/http';
import { answer } from './answer.js';
import { appendOurs } from './response-headers.js';
import { waitsForContinue } from './target.js';

/** The built-in upstream: answers with what it received. Counts the body without keeping it. */
export function echo(
  request: IncomingMessage,
  response: ServerResponse,
  ours: readonly Field[],
  isClosing: () => boolean,
): void {
  let bodyBytes = 0;
  if (waitsForContinue(request)) response.writeContinue();
  request.on('data', (chunk: Buffer) => {
    bodyBytes += chunk.length;
  });
  request.on('end', () => {
    const { method, url, headers } = request;
    const list = ['content-type', 'application/json'];
    appendOurs(list, ours, headers.origin !== undefined);
    const body = `${JSON.stringify({ method, path: url, headers, bodyBytes }, undefined, 2)}\n`;
    answer(request, response, 200, list, body, isClosing());
  });
}
