// The suite for adapters, run on one's own.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { adapterSuite } from 'comporta/testing';
import { limited } from './own-adapter.mjs';

/** The application that the suite asks for. */
async function start(options, answer) {
  const handler = limited(options, (request, response) => {
    const { status, body, isEndless } = answer(new URL(request.url, 'http://a').pathname);
    response.statusCode = status;
    if (isEndless) response.write(body);
    else response.end(body);
  });
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

for (const { name, run } of adapterSuite) test(name, () => run(start));
