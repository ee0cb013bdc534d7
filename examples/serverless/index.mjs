// The function of `function.mjs` on this machine: a server that makes of each request the event that a function
// URL makes of it, and of the answer a response. Run it twice with REDIS_URL set: both count together.
import { createServer } from 'node:http';
import { handler } from './function.mjs';

const port = Number(process.env.PORT ?? 3000);
const timeoutMs = 5000;

function eventOf({ method, url, headers, socket }) {
  const [rawPath, rawQueryString = ''] = url.split('?');
  const http = { method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: socket.remoteAddress };
  return { version: '2.0', routeKey: '$default', rawPath, rawQueryString, headers, requestContext: { http } };
}

const server = createServer(async (request, response) => {
  const endMs = Date.now() + timeoutMs;
  const context = { getRemainingTimeInMillis: () => endMs - Date.now() };
  const { statusCode, headers, body } = await handler(eventOf(request), context);
  response.writeHead(statusCode, headers).end(body);
});
server.listen(port, '127.0.0.1', () => {
  console.log(`try: for i in 1 2 3 4 5 6; do curl -si http://127.0.0.1:${port}/; done`);
});
