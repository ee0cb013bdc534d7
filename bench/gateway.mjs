// What the decision costs a gateway: the same proxy with policies and without, in memory, in turns.
//   npm run build && node bench/gateway.mjs [--rounds 7] [--seconds 3] [--connections 32]
// Prints requests per second and gateway CPU per request of each round, and their ratios.
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const BODY = '{"hello":"from the upstream, with some bytes to carry"}';
const self = fileURLToPath(import.meta.url);
const role = process.env.BENCH_ROLE;

async function runUpstream() {
  const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': BODY.length }).end(BODY);
  });
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
}

async function runGateway() {
  const { startApp, loadConfig, createLog } = await import('../packages/server/dist/index.js');
  const { config, problems } = loadConfig(process.env.BENCH_CONFIG, process.env);
  if (problems) throw new Error(JSON.stringify(problems));
  const app = await startApp(
    config,
    createLog('text', (line) => process.stderr.write(line)),
  );
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send({ cpuUs: user + system });
  });
  process.send({ port: app.gateway.port });
}

function start(name, environment = {}) {
  const child = fork(self, [], { env: { ...process.env, ...environment, BENCH_ROLE: name } });
  return new Promise((resolve) => child.once('message', ({ port }) => resolve({ child, port })));
}

const cpuOf = ({ child }) =>
  new Promise((resolve) => {
    child.once('message', ({ cpuUs }) => resolve(cpuUs));
    child.send('cpu');
  });

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

/** Keep-alive connections with one request in flight each, on bare sockets: the client must not be the limit. */
async function load(port, connections, seconds) {
  const fields = [`Host: 127.0.0.1:${port}`, 'User-Agent: bench', 'Accept: */*', 'Accept-Encoding: gzip'];
  const request = `GET /api/items?page=2 HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`;
  let done = 0;
  let isOver = false;
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let tail = '';
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      tail = (tail + chunk.toString('latin1')).slice(-BODY.length);
      if (tail !== BODY) return;
      tail = '';
      done++;
      if (!isOver) socket.write(request);
    });
    socket.on('error', (error) => console.error(error.message));
    return socket;
  });
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  isOver = true;
  for (const socket of sockets) socket.destroy();
  return done / seconds;
}

async function measure(gateway, connections, seconds) {
  const before = await cpuOf(gateway);
  const perSecond = await load(gateway.port, connections, seconds);
  return { perSecond, cpuUs: ((await cpuOf(gateway)) - before) / (perSecond * seconds) };
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
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
  const upstream = await start('upstream');
  const limited = await start('gateway', { BENCH_CONFIG: configText(upstream.port, true) });
  const plain = await start('gateway', { BENCH_CONFIG: configText(upstream.port, false) });
  for (const gateway of [plain, limited]) await load(gateway.port, connections, 3);
  const throughput = [];
  const cpu = [];
  for (let round = 1; round <= rounds; round++) {
    // The order turns each round, so that what drifts drifts for both.
    const order = round % 2 === 0 ? [plain, limited] : [limited, plain];
    const results = new Map();
    for (const gateway of order) results.set(gateway, await measure(gateway, connections, seconds));
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
