// The function of `function.mjs` on this machine, without the Functions host: Node's own server calls it. As App
// Service does, it writes the address and the port of its peer last into X-Forwarded-For.
import { createServer } from 'node:http';
import azure from '@azure/functions';
import { handler } from './function.mjs';

const { HttpRequest, HttpResponse, InvocationContext } = azure;
const port = Number(process.env.PORT ?? 3000);
const server = createServer(async ({ method, url, headers, socket }, outgoing) => {
  const peer = `${socket.remoteAddress}:${socket.remotePort}`;
  const forwarded = headers['x-forwarded-for'];
  const fields = { ...headers, 'x-forwarded-for': forwarded ? `${forwarded}, ${peer}` : peer };
  const request = new HttpRequest({ method, url: `http://127.0.0.1:${port}${url}`, headers: fields });
  const response = new HttpResponse(await handler(request, new InvocationContext()));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
});
server.listen(port, '127.0.0.1', () => {
  console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
});
