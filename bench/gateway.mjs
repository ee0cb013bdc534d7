// What the decision costs a gateway: the same proxy with policies and without, in memory, in turns.
//   npm run build && node bench/gateway.mjs [--rounds 7] [--seconds 3] [--connections 32]
// Prints requests per second and gateway CPU per request of each round, and their ratios.
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { load, measure, report, startServer } from './lib/http-load.mjs';
import { median } from './lib/stats.mjs';

const BODY = '{"hello":"from the upstream, with some bytes to carry"}';
const self = fileURLToPath(import.meta.url);
const role = process.env.BENCH_ROLE;

async function runUpstream() {
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': BODY.length }).end(BODY);
  });
  server.listen(0, '127.0.0.1', () => report(server.address().port));
}

async function runGateway() {
  const { startApp, loadConfig, createLog } = await import('../packages/server/dist/index.js');
  const { config, problems } = loadConfig(process.env.BENCH_CONFIG, process.env);
  if (problems) throw new Error(JSON.stringify(problems));
  const app = await startApp(
    config,
    createLog('text', (line) => process.stderr.write(line)),
  );
  report(app.gateway.port);
}

const configText = (upstreamPort, hasPolicies) =>
  JSON.stringify({
    policies: hasPolicies
      ? [
          {
            name: 'per-client',
            key: 'ip',
            limits: { tokenBucket: { capacity: 100_000_000, refill: 1_000_000, every: '1s' } },
          },
        ]
      : [],
    gateway: { listen: '127.0.0.1:0', routes: [{ path: '/', upstream: `http://127.0.0.1:${upstreamPort}` }] },
  });

const spread = (values) =>
  `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;

async function runBench() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '7' },
      seconds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '32' },
    },
  });
  const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(Number);
  const options = { connections, seconds, body: BODY };
  const upstream = await startServer(self, { BENCH_ROLE: 'upstream' });
  const limited = await startServer(self, { BENCH_ROLE: 'gateway', BENCH_CONFIG: configText(upstream.port, true) });
  const plain = await startServer(self, { BENCH_ROLE: 'gateway', BENCH_CONFIG: configText(upstream.port, false) });
  for (const gateway of [plain, limited]) await load(gateway.port, { ...options, seconds: 3 });
  const throughput = [];
  const cpu = [];
  for (let round = 1; round <= rounds; round++) {
    // The order turns each round, so that what drifts drifts for both.
    const order = round % 2 === 0 ? [plain, limited] : [limited, plain];
    const results = new Map();
    for (const gateway of order) results.set(gateway, await measure(gateway, options));
    const [on, off] = [results.get(limited), results.get(plain)];
    throughput.push(on.perSecond / off.perSecond);
    cpu.push(off.cpuUs / on.cpuUs);
    console.log(
      `round ${round}: with policies ${on.perSecond.toFixed(0)} req/s ${on.cpuUs.toFixed(1)} µs CPU, without ${off.perSecond.toFixed(0)} req/s ${off.cpuUs.toFixed(1)} µs CPU`,
    );
  }
  console.log(`req/s, with policies / without: ${spread(throughput)}`);
  console.log(`CPU per request, without / with policies: ${spread(cpu)}`);
  for (const { child } of [upstream, limited, plain]) child.kill();
}

if (role === 'upstream') await runUpstream();
else if (role === 'gateway') await runGateway();
else await runBench();
