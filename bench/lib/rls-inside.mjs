// What a call of the rate limit service costs inside this process, without gRPC: processor time of each of its parts.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore } from 'comporta';
import { Alerts } from '../../packages/server/dist/alerts/alerts.js';
import { loadConfig } from '../../packages/server/dist/config/load.js';
import { Engine } from '../../packages/server/dist/engine/engine.js';
import { shouldRateLimit } from '../../packages/server/dist/envoy/grpc/should-rate-limit.js';
import { InForce } from '../../packages/server/dist/envoy/in-force.js';
import { readRequest } from '../../packages/server/dist/envoy/wire/read.js';
import { writeAnswer } from '../../packages/server/dist/envoy/wire/write.js';
import { StoreWatch } from '../../packages/server/dist/health/store-watch.js';
import { createMetrics } from '../../packages/server/dist/metrics/metrics.js';
import { DOMAIN, USERS } from './rls-domain.mjs';
import { median } from './stats.mjs';

const CALLS = 100_000;
/** Of a frame of gRPC, before the message. */
const HEAD_BYTES = 5;
const log = { info: () => undefined, warn: console.error, error: console.error };

/** The parts that a server of this mode puts together, without its sockets. */
function parts(mode) {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-bench-'));
  writeFileSync(join(folder, 'domain.yaml'), JSON.stringify(DOMAIN));
  const envoy = { listen: '127.0.0.1:0', config: 'domain.yaml', mode };
  const at = (name) => join(folder, name);
  const { config, problems } = loadConfig(JSON.stringify({ store: 'memory', envoy }), {}, undefined, at);
  if (problems !== undefined) throw new Error(JSON.stringify(problems));
  const metrics = createMetrics();
  const alerts = new Alerts({ config: config.alerts, instance: 'bench', log });
  const inForce = (isMeasured) => {
    const store = memoryStore();
    const engine = new Engine(config, { store, watch: new StoreWatch(store, log), alerts, metrics, log });
    const onLimiter = isMeasured ? (limiter) => engine.listen(limiter) : () => () => undefined;
    const made = new InForce(config, { store, log, onLimiter });
    return () => made.service;
  };
  const made = { bare: inForce(false), followed: inForce(true), metrics };
  rmSync(folder, { recursive: true });
  return made;
}

/** Of the same shape as those that are read. Made apart: what a reader makes and is kept makes it slower. */
const requestOf = (i) => ({
  domain: DOMAIN.domain,
  descriptors: [
    {
      entries: [{ key: 'user', value: `user-${i}` }],
      limit: undefined,
      hitsAddend: undefined,
      isNegativeHits: false,
    },
  ],
  hitsAddend: 0,
});

/** Prints microseconds of processor time a call, the least and the middle of the rounds, for frames in turn. */
export function measureInside(mode, frames, rounds) {
  const { bare, followed, metrics } = parts(mode);
  const far = Number.POSITIVE_INFINITY;
  const call = (request) => ({ request, cancelled: false, getDeadline: () => far });
  const ignore = () => undefined;
  const onError = (error) => {
    throw error;
  };
  const alone = shouldRateLimit({ service: bare, onError });
  const whole = shouldRateLimit({ service: followed, onAnswer: (answered) => metrics.rlsAnswered(answered), onError });
  const messages = frames.map((frame) => frame.subarray(HEAD_BYTES));
  const requests = Array.from({ length: USERS }, (_, i) => requestOf(i));
  const answer = bare().decide(requests[0]);
  const cases = {
    'read the request': (i) => readRequest(messages[i]),
    decide: (i) => bare().decide(requests[i]),
    'write the answer': () => writeAnswer(answer),
    'all three': (i) => alone(call(messages[i]), ignore),
    'with metrics': (i) => whole(call(messages[i]), ignore),
  };
  const took = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [name, run] of Object.entries(cases)) {
      const before = process.cpuUsage();
      for (let n = 0; n < CALLS; n++) run(n % USERS);
      const { user, system } = process.cpuUsage(before);
      if (round >= 0) took[name].push((user + system) / CALLS);
    }
  }
  console.log(`µs of processor time a call, inside the process, mode ${mode}: least and middle of ${rounds} rounds`);
  for (const [name, all] of Object.entries(took))
    console.log(`  ${name.padEnd(20)} ${Math.min(...all).toFixed(2)}  ${median(all).toFixed(2)}`);
}
