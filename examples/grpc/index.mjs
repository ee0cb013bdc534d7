// gRPC: 5 calls at once for each client, refilled at 1 per second; health checks are not counted.
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { tokenBucket } from 'comporta';
import { rateLimit } from 'comporta/grpc';
import { greeter } from './service.mjs';

const limiter = rateLimit({
  name: 'per-client',
  limits: tokenBucket({ capacity: 5, refill: 1, every: '1s' }),
  allow: ({ url }) => url.startsWith('/grpc.health.'),
});

const server = new Server({ interceptors: [limiter] });
server.addService(greeter, { hello: ({ request }, done) => done(null, `hello ${request}`) });

const port = Number(process.env.PORT ?? 3000);
server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
  console.log(`try: PORT=${port} node examples/grpc/client.mjs`);
});
