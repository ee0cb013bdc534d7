// `npm run fuzz`: random, mutated and odd requests to running services, in processes of their own.
//   node scripts/fuzz.mjs [--only grpc|json] [--seconds 60] [--seed N]
// They must answer everything with a status that says whose fault it was, go on answering, say nothing of faults of
// their own, and keep their memory. Seeds of batches that failed are kept in tests/support/fixtures/fuzz-seeds.json,
// with which every run begins.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { GRPC_BATCH, grpcFault } from './fuzz/grpc.mjs';
import { JSON_BATCH, jsonFault } from './fuzz/json.mjs';
import { randomOf } from './fuzz/random.mjs';
import { faultOf, rssKbOf, startServices } from './fuzz/services.mjs';
import { root } from './lib/aliases.mjs';

const KEPT = join(root, 'tests/support/fixtures/fuzz-seeds.json');
const BATCH_MS = 60_000;
const KINDS = {
  grpc: { send: grpcFault, batch: GRPC_BATCH },
  json: { send: jsonFault, batch: JSON_BATCH },
};

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now()) },
  },
});
const kinds = Object.entries(KINDS).filter(([name]) => values.only === undefined || values.only === name);
if (kinds.length === 0) throw new Error(`--only: expected ${Object.keys(KINDS).join(' or ')}`);

const services = await startServices();
const kept = JSON.parse(readFileSync(KEPT, 'utf8'));

/** A batch that does not end is a fault too. */
function inTime(work) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(`no end within ${BATCH_MS} ms`), BATCH_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

async function run(name, { send, batch }) {
  const known = kept[name];
  const endMs = performance.now() + (Number(values.seconds) * 1000) / kinds.length;
  let batches = 0;
  for (let seed = Number(values.seed) >>> 0; batches < known.length || performance.now() < endMs; batches++, seed++) {
    const used = known[batches] ?? seed;
    for (const service of services) {
      const fault = (await inTime(send(randomOf(used), service))) ?? faultOf(service);
      if (fault === undefined) continue;
      if (!known.includes(used)) {
        known.push(used);
        writeFileSync(KEPT, `${JSON.stringify(kept, undefined, 2)}\n`);
      }
      console.error(`${name}, mode ${service.mode}, seed ${used}: ${fault}\n${service.words.slice(-2000)}`);
      process.exit(1);
    }
  }
  const mb = Math.round(Math.max(...services.map(rssKbOf)) / 1000);
  console.log(`${name}: ${batches * batch * services.length} requests answered, ${mb} MB in use`);
}

for (const [name, kind] of kinds) await run(name, kind);
process.exit(0);
