// Speed: rounds in which every subject runs a short slice in turn, so that what drifts drifts for all.
import { MODES } from './lib/load.mjs';
import { tagOf, takesPart } from './lib/plan.mjs';
import { startChild } from './lib/processes.mjs';
import { usage } from './lib/servers.mjs';

/** A process for each subject that takes part, connected. */
export async function openAll(module, subjects, topology, at) {
  const names = Object.keys(subjects).filter((name) => subjects[name].topologies?.includes(topology) ?? true);
  return new Map(await Promise.all(names.map(async (name) => [name, await startChild(module, [name], at)])));
}

/** Figures of one slice per decision; a decision that Redis did not make counts for nothing. */
function figures({ admitted, refused, degraded, errors, tookMs, cpuUs, p50Us, p99Us, firstError }, before, after) {
  const decided = admitted + refused;
  return {
    perSecond: decided / (tookMs / 1000),
    p50Us,
    p99Us,
    clientUs: cpuUs / decided,
    redisUs: (after.cpuUs - before.cpuUs) / decided,
    calls: (after.calls - before.calls) / decided,
    admitted: admitted / decided,
    failed: (degraded + errors) / (decided + degraded + errors),
    firstError,
  };
}

/** Results by subject, one per round; a round before them warms up and is not kept. */
export async function runBlock({ children, subjects, topology, servers, mode, inFlight, rounds, sliceMs, warmMs }) {
  const names = [...children.keys()].filter((name) => takesPart(subjects[name], topology, mode));
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round + 1) % names.length];
      const before = await usage(servers);
      const asked = { name, mode, tag: tagOf(subjects, name), inFlight, ms: round < 0 ? warmMs : sliceMs };
      const slice = await children.get(name).ask('slice', asked);
      if (round >= 0) results[name].push(figures(slice, before, await usage(servers)));
    }
  }
  return { topology, mode, title: MODES[mode].title, inFlight, results };
}

/** The same in memory: decisions per second of processor time. */
export async function runBare({ children, mode, rounds, bareMs, warmMs }) {
  const names = [...children.keys()];
  const results = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round + 1) % names.length];
      const ms = round < 0 ? warmMs : bareMs;
      const { admitted, refused, cpuUs } = await children.get(name).ask('bare', { name, mode, ms });
      const decided = admitted + refused;
      if (round >= 0) results[name].push({ perSecond: decided / (cpuUs / 1e6), admitted: admitted / decided });
    }
  }
  return { topology: 'memory', mode, title: MODES[mode].title, results };
}
