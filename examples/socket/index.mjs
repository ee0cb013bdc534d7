// A chat on WebSockets: 5 messages in any 10 seconds for each client, over all its connections; and 5 pages.
import { createServer } from 'node:http';
import { slidingWindow } from 'comporta';
import { withRateLimit } from 'comporta/node';
import { limitMessages } from 'comporta/socket';
import { WebSocketServer } from 'ws';

const limits = slidingWindow({ limit: 5, window: '10s' });
const page = `<input autofocus placeholder="say something"><pre></pre><script>
  const socket = new WebSocket(location.href.replace('http', 'ws'));
  socket.onmessage = ({ data }) => { document.querySelector('pre').textContent += data + '\\n'; };
  document.querySelector('input').onchange = ({ target }) => { socket.send(target.value); target.value = ''; };
</script>`;

const server = createServer(
  withRateLimit((_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page), {
    name: 'pages',
    limits,
  }),
);

const sockets = new WebSocketServer({ server });
sockets.on('connection', limitMessages({ name: 'messages', limits }));
sockets.on('connection', (socket) => {
  socket.on('message', (data) => {
    for (const client of sockets.clients) client.send(String(data));
  });
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, '127.0.0.1', () => {
  console.log(`try: open http://127.0.0.1:${port}/ in a browser and send six messages`);
});
