// At most three WebSockets per client at once, counted over all processes that share the store.
import { createServer } from 'node:http';
import { concurrency, createLimiter } from 'comporta';
import { WebSocketServer } from 'ws';

const limiter = createLimiter({
  policy: 'sockets',
  limits: concurrency({ limit: 3, lease: '15s' }),
  // With a store that others share: `store: redisStore('redis://127.0.0.1:6379')` from 'comporta/redis'.
});

const sockets = new WebSocketServer({ noServer: true });
const server = createServer((_request, response) => response.end('hello, this is for WebSockets\n'));

server.on('upgrade', async (request, socket, head) => {
  socket.on('error', () => socket.destroy());
  const lease = await limiter.acquire(socket.remoteAddress ?? 'unknown');
  if (!lease.allowed) {
    socket.end('HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    return;
  }
  if (socket.destroyed) return void lease.release();
  socket.once('close', () => lease.release());
  sockets.handleUpgrade(request, socket, head, (webSocket) => {
    // This process was away for longer than the lease, and others have the room now.
    lease.signal.addEventListener('abort', () => webSocket.close(1013, 'try again later'));
    webSocket.on('message', (data) => webSocket.send(String(data)));
  });
});

process.once('SIGTERM', async () => {
  server.close();
  await limiter.close();
  for (const webSocket of sockets.clients) webSocket.terminate();
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, '127.0.0.1', () => {
  const upgrade = ['connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'];
  const key = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==';
  const headers = [...upgrade, key].map((header) => `-H '${header}'`).join(' ');
  const curl = `curl -sm 2 -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:${port}/ ${headers}`;
  console.log(`try: for i in 1 2 3 4; do ${curl} & done; wait`);
});
