// `npm run bench:peers [-- --quick] [-- --out FOLDER]`: comporta beside other libraries; writes a page with charts.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { flagsOf } from '../lib/settings.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../..');
const HELP = `npm run bench:peers [-- --quick] [-- --out FOLDER]

comporta beside other libraries, on one Redis: writes benchmark.md and benchmark/ with figures and charts.
  --quick        under three minutes in place of twelve; writes to .scratch/benchmark
  --out FOLDER   where to write; docs by default
The other libraries are installed in bench/peers-lib first.`;
const values = flagsOf({ quick: { type: 'boolean' }, out: { type: 'string' }, help: { type: 'boolean' } });
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
if (!existsSync(join(here, 'node_modules'))) {
  const { status } = spawnSync('npm', ['ci'], { cwd: here, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const { runAccuracy } = await import('./accuracy.mjs');
const { chartsOf } = await import('./charts.mjs');
const { runFaults } = await import('./faults.mjs');
const { MODES } = await import('./lib/load.mjs');
const { PLANS, takesPart } = await import('./lib/plan.mjs');
const { PLACES } = await import('./lib/processes.mjs');
const { progress } = await import('./lib/progress.mjs');
const { startTopology, versionOf } = await import('./lib/servers.mjs');
const { report } = await import('./report.mjs');
const { runSpace } = await import('./space.mjs');
const { SUBJECTS } = await import('./subjects.mjs');
const { MEMORY_SUBJECTS } = await import('./subjects-memory.mjs');
const { openAll, runBare, runBlock } = await import('./throughput.mjs');

const plan = PLANS[values.quick ? 'quick' : 'full'];
const out = values.out ?? join(root, values.quick ? '.scratch/benchmark' : 'docs');
const modules = {
  redis: new URL('subjects.mjs', import.meta.url).href,
  memory: new URL('subjects-memory.mjs', import.meta.url).href,
};

const blocks = plan.blocks.flatMap(([topology, inFlight, modes]) =>
  modes.map((mode) => ({ topology, mode, inFlight })),
);
const titleOf = ({ topology, mode, inFlight }) => `${topology}, ${inFlight} in flight: ${MODES[mode].title}`;
const secondsOf = ({ topology, mode }, i) => {
  const subjects = Object.values(SUBJECTS).filter((subject) => takesPart(subject, topology, mode));
  const warmMs = i === 0 ? plan.firstMs : plan.sliceMs;
  return (subjects.length * (plan.rounds * (plan.sliceMs + 15) + warmMs)) / 1000;
};
const memorySeconds =
  (Object.keys(MEMORY_SUBJECTS).length * Object.keys(MODES).length * (plan.rounds * plan.bareMs + plan.warmBareMs)) /
  1000;
const ON_ONE = blocks.filter(({ topology }) => topology === 'single');
const ON_CLUSTER = blocks.filter(({ topology }) => topology === 'cluster');
const steps = [
  { title: 'start', seconds: 6 },
  ...ON_ONE.map((block, i) => ({ title: titleOf(block), seconds: secondsOf(block, i) })),
  { title: 'memory in Redis', seconds: plan.filled.one / 400 },
  { title: 'faults', seconds: 2 * (plan.faultMs / 1000 + 7) },
  { title: 'accuracy', seconds: 5 + (3 * plan.hammerMs) / 1000 + plan.edges * 11 },
  { title: 'start of the cluster', seconds: 8 },
  ...ON_CLUSTER.map((block, i) => ({ title: titleOf(block), seconds: secondsOf(block, i) })),
  { title: 'in memory', seconds: memorySeconds + 3 },
];
const tell = progress(steps);

async function runBlocks(list, run) {
  const results = [];
  for (const [i, block] of list.entries()) {
    tell(titleOf(block));
    // What a process does for the first time takes longer to become fast.
    const warmMs = i === 0 ? plan.firstMs : plan.sliceMs;
    results.push(await runBlock({ ...run, ...block, ...plan, warmMs }));
  }
  return results;
}

const stopAll = (children) => {
  for (const child of children.values()) child.stop();
};

async function onOneServer() {
  tell('start');
  const servers = await startTopology('single');
  const children = await openAll(modules.redis, SUBJECTS, 'single', servers.at);
  const run = { children, subjects: SUBJECTS, servers };
  const speed = await runBlocks(ON_ONE, run);
  tell('memory in Redis');
  const space = await runSpace({ ...run, filled: plan.filled });
  tell('faults');
  const faults = await runFaults({ ...run, faultMs: plan.faultMs });
  stopAll(children);
  tell('accuracy');
  const accuracy = await runAccuracy({ ...plan, module: modules.redis, subjects: SUBJECTS, at: servers.at });
  const server = await versionOf(servers);
  await servers.stop();
  return { speed, space, faults, accuracy, server };
}

async function onCluster() {
  tell('start of the cluster');
  const servers = await startTopology('cluster');
  const children = await openAll(modules.redis, SUBJECTS, 'cluster', servers.at);
  const speed = await runBlocks(ON_CLUSTER, { children, subjects: SUBJECTS, servers });
  stopAll(children);
  await servers.stop();
  return speed;
}

async function inMemory() {
  tell('in memory');
  const children = await openAll(modules.memory, MEMORY_SUBJECTS, 'memory', undefined);
  const results = [];
  for (const mode of Object.keys(MODES)) {
    results.push(await runBare({ ...plan, warmMs: plan.warmBareMs, children, mode }));
  }
  stopAll(children);
  return results;
}

function versions() {
  const of = (folder, name) => JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')).version;
  const { dependencies } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  return { comporta: of(root, 'packages/comporta'), ...dependencies };
}

function machine(server) {
  const [{ model }] = cpus();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const { stdout } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' });
  const commit = stdout?.trim() || 'unknown';
  const pinned = PLACES.client === undefined ? 'not pinned to processors' : 'clients and servers on a processor each';
  const processors = `${cpus().length} x ${model}`;
  const node = `Node ${process.version.slice(1)}`;
  return [server, node, `Linux ${release()}`, processors, memory, pinned, `commit ${commit}`].join(', ');
}

const startMs = performance.now();
const { speed, space, faults, accuracy, server } = await onOneServer();
const data = {
  made: new Date().toISOString().slice(0, 10),
  command: `npm run bench:peers${values.quick ? ' -- --quick' : ''}`,
  machine: machine(server),
  versions: versions(),
  plan: { rounds: plan.rounds, sliceMs: plan.sliceMs, faultMs: plan.faultMs },
  blocks: [...speed, ...(await onCluster()), ...(await inMemory())],
  space,
  accuracy,
  faults,
};

const subjects = { ...SUBJECTS, ...MEMORY_SUBJECTS };
const charts = chartsOf(data, subjects);
mkdirSync(join(out, 'benchmark'), { recursive: true });
const rounded = (_, value) => (typeof value === 'number' ? Number(value.toPrecision(4)) : value);
writeFileSync(join(out, 'benchmark/figures.json'), `${JSON.stringify(data, rounded)}\n`);
for (const [name, svg] of Object.entries(charts)) writeFileSync(join(out, `benchmark/${name}.svg`), svg);
const template = readFileSync(join(here, 'page.md'), 'utf8');
writeFileSync(join(out, 'benchmark.md'), report(template, data, subjects, charts));
console.error(`${((performance.now() - startMs) / 1000).toFixed(0)} s; written to ${join(out, 'benchmark.md')}`);
process.exit(0);
