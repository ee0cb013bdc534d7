// `npm run cluster`: a cluster of three primaries and three replicas on this machine, until Ctrl-C.
import { register } from 'node:module';

register('./lib/typescript-hooks.mjs', import.meta.url);
const { startCluster } = await import('../tests/support/cluster.ts');
const { installedKinds } = await import('../tests/support/servers.ts');
const { isFree } = await import('../tests/support/ports.ts');

const ports = [7001, 7002, 7003, 7004, 7005, 7006];

function giveUp(words) {
  console.error(words);
  process.exit(1);
}

async function firstTaken() {
  for (const port of ports.flatMap((port) => [port, port + 10_000])) if (!(await isFree(port))) return port;
  return undefined;
}

function describe({ primaries, replicas, url }) {
  const list = (nodes) => nodes.map(({ port }) => `127.0.0.1:${port}`).join('  ');
  const serve = 'node_modules/.bin/comporta serve -c examples/cluster/comporta.yaml';
  return [
    `primaries  ${list(primaries)}`,
    `replicas   ${list(replicas)}`,
    `store      ${url}`,
    '',
    'Two gateways that share every limit, each in a terminal of its own (after `npm run build`):',
    `  PORT=8080 ${serve}`,
    `  PORT=8090 API_PORT=8091 ${serve}`,
    '',
    'Ctrl-C stops the cluster and removes its files.',
  ].join('\n');
}

const kind = installedKinds()[0];
if (kind === undefined) {
  giveUp('Neither redis-server nor valkey-server is installed: run `node scripts/install-servers.mjs`.');
}
const taken = await firstTaken();
if (taken !== undefined) giveUp(`Port ${taken} is taken: the cluster needs 7001 to 7006 and 17001 to 17006.`);

console.log(`Starting six ${kind} servers ...`);
const starting = startCluster({ kind, ports });
let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, async () => {
    if (stopping) return;
    stopping = true;
    await (await starting).stop();
    console.log('\nThe cluster is stopped.');
    process.exit(0);
  });
}
const cluster = await starting.catch((error) => giveUp(error.message));
console.log(describe(cluster));
// The servers' own connections keep no process alive; this does, until a signal comes.
setInterval(() => {}, 2 ** 30);
