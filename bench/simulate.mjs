// Many processes and subjects in a time of their own, on the library's own code: see docs/simulation.md.
//   npm run bench simulate            all scenarios, in minutes
//   BENCH_SIMULATE=hot,outage BENCH_PART=0.2 npm run bench simulate     some, in a fifth of their time
//   BENCH_SEED=7 npm run bench simulate                                 the same with other chances
import { register } from 'node:module';
import { refuse, settingOf } from './lib/settings.mjs';

register('../scripts/lib/typescript-hooks.mjs', import.meta.url);
const { scenarios } = await import('./simulation/scenarios.ts');

/** So that a long scenario is seen to go on. */
const SIGN_EVERY_MS = 20_000;

const seed = settingOf('BENCH_SEED', 1, { from: 0, to: 1_000_000_000 });
const part = settingOf('BENCH_PART', 1, { from: 0.05, to: 10, isWhole: false });
const names = process.env.BENCH_SIMULATE?.split(',') ?? Object.keys(scenarios);
const unknown = names.filter((name) => scenarios[name] === undefined);
if (unknown.length > 0) {
  refuse(`BENCH_SIMULATE: no scenario "${unknown.join()}"; there are ${Object.keys(scenarios).join(', ')}`);
}
for (const name of names) {
  const start = process.cpuUsage();
  const sign = setInterval(() => console.error(`${name} ...`), SIGN_EVERY_MS);
  await scenarios[name](seed, part, (text) => console.log(`${text}\n`));
  clearInterval(sign);
  const { user, system } = process.cpuUsage(start);
  const mb = Math.round(process.memoryUsage().rss / 1e6);
  console.error(`${name}: ${Math.round((user + system) / 1e6)} s of processor, ${mb} MB at its end`);
}
