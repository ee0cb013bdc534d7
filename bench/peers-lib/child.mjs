// A process of its own for the subjects it is told of: `node child.mjs`, spoken to over its channel.
import { bareLoop, burst, closedLoop, fill, MODES, paced, subjectsOf } from './lib/load.mjs';

const makers = new Map();
const limiters = new Map();
const drawn = new Map();

/** A limiter by subject and policy, made when it is first asked for. */
function limiterOf(name, policy) {
  const key = `${name}/${policy.name}`;
  if (!limiters.has(key)) limiters.set(key, makers.get(name)(policy));
  return limiters.get(key);
}

/** Names are equally short for everybody, since they are part of the keys. */
function policyOf({ mode, limit, windowMs, tag = '' }) {
  const set = MODES[mode] ?? { limit, windowMs };
  const refillMs = Math.max(1, set.windowMs / set.limit);
  const name = `${mode}${tag}`;
  return { name, prefix: name, limit: set.limit, capacity: set.limit, windowMs: set.windowMs, refillMs };
}

function drawnFor(mode) {
  if (!drawn.has(mode)) drawn.set(mode, subjectsOf(mode));
  return drawn.get(mode);
}

const work = {
  async open({ module, names, at }) {
    const subjects = Object.values(await import(module))[0];
    await Promise.all(names.map(async (name) => makers.set(name, await subjects[name].open(at))));
  },
  slice: (asked) => closedLoop(limiterOf(asked.name, policyOf(asked)), drawnFor(asked.mode), asked),
  bare: (asked) => bareLoop(limiterOf(asked.name, policyOf(asked)), drawnFor(asked.mode), asked),
  fill: (asked) => fill(limiterOf(asked.name, policyOf(asked)), asked),
  paced: (asked) => paced(limiterOf(asked.name, policyOf(asked)), asked.mode, asked),
  burst: (asked) => burst(limiterOf(asked.name, policyOf(asked)), asked.mode, asked),
};

process.on('message', async ({ id, what, asked }) => {
  try {
    process.send({ id, result: await work[what](asked) });
  } catch (error) {
    process.send({ id, error: error.stack });
  }
});
process.once('disconnect', () => process.exit());
