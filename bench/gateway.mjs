// What the decision costs a gateway: the same proxy with policies and without, in memory, in turns; and nginx with its
// `limit_req` and without beside them, where it is installed (`node scripts/install-proxies.mjs`), with one worker.
//   npm run build && node bench/gateway.mjs [--rounds 7] [--seconds 3] [--connections 32]
// Prints requests per second, and per second of processor time of each proxy, and the ratios of each with limits to
// the same without. All share the machine with the load and the upstream: what a proxy costs is its processor time.
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { load, measure, report, startServer } from './lib/http-load.mjs';
import { findNginx, startNginx } from './lib/nginx.mjs';
import { numbersOf } from './lib/settings.mjs';
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

/** The proxies that are compared, each with limits and without. */
async function startProxies(upstreamPort) {
  const gateway = (isLimited) =>
    startServer(self, { BENCH_ROLE: 'gateway', BENCH_CONFIG: configText(upstreamPort, isLimited) });
  const proxies = { 'comporta, policies': await gateway(true), 'comporta, none': await gateway(false) };
  if (findNginx() === undefined) {
    console.log('nginx is not installed and left out: node scripts/install-proxies.mjs');
    return proxies;
  }
  const nginx = (isLimited) => startNginx({ upstreamPort, isLimited });
  return { ...proxies, 'nginx, limit_req': await nginx(true), 'nginx, none': await nginx(false) };
}

async function runBench() {
  const [rounds, seconds, connections] = numbersOf({ rounds: 7, seconds: 3, connections: 32 });
  const options = { connections, seconds, body: BODY };
  const upstream = await startServer(self, { BENCH_ROLE: 'upstream' });
  const proxies = await startProxies(upstream.port);
  const names = Object.keys(proxies);
  for (const proxy of Object.values(proxies)) await load(proxy.port, options);
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    // The order turns each round, so that what drifts drifts for all.
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      results[name].push(await measure(proxies[name], options));
    }
  }
  console.log(
    `${rounds} interleaved rounds of ${seconds} s, ${connections} connections: requests a second, the middle`,
  );
  for (const [name, all] of Object.entries(results)) {
    const perSecond = median(all.map((one) => one.perSecond));
    const cpuUs = median(all.map((one) => one.cpuUs));
    const perCpuSecond = (1e6 / cpuUs).toFixed(0);
    console.log(
      `  ${name.padEnd(20)} ${perSecond.toFixed(0)}; ${perCpuSecond} a CPU second (${cpuUs.toFixed(1)} µs each)`,
    );
  }
  for (let i = 0; i < names.length; i += 2) {
    const [on, off] = [results[names[i]], results[names[i + 1]]];
    const throughput = spread(on.map((one, k) => one.perSecond / off[k].perSecond));
    const cpu = spread(on.map((one, k) => off[k].cpuUs / one.cpuUs));
    console.log(`${names[i]} / ${names[i + 1]}: requests a second ${throughput}, a CPU second ${cpu}`);
  }
  for (const { child } of [upstream, ...Object.values(proxies)]) child.kill();
}

if (role === 'upstream') await runUpstream();
else if (role === 'gateway') await runGateway();
else await runBench();
