// One server of the benchmark of the rate limit service: BENCH_KIND says which.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { startApp } from '../../packages/server/dist/app.js';
import { loadConfig } from '../../packages/server/dist/config/load.js';
import { writeAnswer } from '../../packages/server/dist/envoy/wire/write.js';
import { report } from './http-load.mjs';
import { DOMAIN } from './rls-domain.mjs';

const { BENCH_KIND: kind, BENCH_STORE: store = 'memory', BENCH_MODE: mode = 'compatible' } = process.env;
/** An answer with one status, of the size that the service's have. */
const ANSWER = writeAnswer({
  isOver: false,
  statuses: [
    { isOver: false, limit: { requestsPerUnit: 1e7, unit: 'HOUR', name: '' }, remaining: 1e7 - 1, resetSeconds: 1800 },
  ],
  headers: [],
});

/** What this library costs alone: bytes in, the same bytes out. */
function startGrpcEcho() {
  const server = new Server({ 'grpc.enable_channelz': 0 });
  const asIs = (bytes) => bytes;
  const codec = {
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  const path = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
  const method = { path, requestStream: false, responseStream: false, ...codec };
  server.addService({ ShouldRateLimit: method }, { ShouldRateLimit: (_, answer) => answer(null, ANSWER) });
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, port) => report(port));
}

/** The same on Node's own HTTP/2 alone. */
function startHttp2Echo() {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(ANSWER.length, 1);
  const frame = Buffer.concat([head, ANSWER]);
  const server = createServer();
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.resume().on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
      stream.end(frame);
    });
  });
  server.listen(0, '127.0.0.1', () => report(server.address().port));
}

async function startService() {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'domain.yaml'), JSON.stringify(DOMAIN));
  const envoy = { listen: '127.0.0.1:0', config: 'domain.yaml', mode, timeout: '1s' };
  const { config, problems } = loadConfig(JSON.stringify({ store, envoy }), {}, undefined, (name) =>
    join(folder, name),
  );
  if (problems !== undefined) throw new Error(JSON.stringify(problems));
  const say = (...words) => console.error(...words);
  const app = await startApp(config, { info: say, warn: say, error: say });
  report(app.envoy.port);
}

if (kind === 'http2') startHttp2Echo();
else if (kind === 'grpc') startGrpcEcho();
else await startService();

process.once('disconnect', () => process.exit(0));
