import type { RequestListener } from 'node:http';
import { HttpRequest, HttpResponse, type HttpResponseInit, InvocationContext } from '@azure/functions';

type Handler = (request: HttpRequest, context: InvocationContext) => Promise<HttpResponseInit | HttpResponse>;

/** Stands before a function as App Service does: it appends the peer to `X-Forwarded-For`, with its port. */
export function azureFront(handler: Handler): RequestListener {
  return async (incoming, outgoing) => {
    const { headersDistinct, socket, method = 'GET', url = '/' } = incoming;
    const lines = Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')]);
    const fields = Object.fromEntries(lines) as Record<string, string>;
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    const claimed = fields['x-forwarded-for'];
    const headers = { ...fields, 'x-forwarded-for': claimed === undefined ? peer : `${claimed}, ${peer}` };
    const request = new HttpRequest({ method, url: `http://${fields.host ?? 'a.example'}${url}`, headers });
    const answer = await handler(request, new InvocationContext());
    const response = answer instanceof HttpResponse ? answer : new HttpResponse(answer);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  };
}
