// `npm run lives`: clients whose servers and connections meet with accidents, by chance; then all is well again.
//   node scripts/lives.mjs [--topology single|cluster] [--seconds 60] [--seed N] [--only 'ioredis 5']
// Decisions must come from the store again, each in time and charged once, on no more connections than before, and
// the process must end once all is closed. A seed gives the same clients and events again, at about the same times.
import { register } from 'node:module';
import { parseArgs } from 'node:util';

register('./lib/typescript-hooks.mjs', import.meta.url);
const { startGround } = await import('../tests/chaos/lives/ground.ts');
const { live } = await import('../tests/chaos/lives/live.ts');

const { values } = parseArgs({
  options: {
    topology: { type: 'string', default: 'single' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now()) },
    only: { type: 'string', default: '' },
  },
});
if (!['single', 'cluster'].includes(values.topology)) throw new Error('--topology: expected single or cluster');

const ground = await startGround(values.topology);
const endMs = performance.now() + Number(values.seconds) * 1000;
let faulty = 0;
for (let seed = Number(values.seed) >>> 0; performance.now() < endMs; seed++) {
  const { story, slowestMs, faults } = await live(ground, seed, values.only);
  console.log(`seed ${seed}: ${story.join(', ')}: back after ${slowestMs.toFixed(0)} ms`);
  for (const fault of faults) console.log(`       ${fault}`);
  if (faults.length > 0) faulty++;
}
await ground.close();
console.log(faulty === 0 ? 'every promise was kept' : `${faulty} lives had a fault`);
process.exit(faulty === 0 ? 0 : 1);
