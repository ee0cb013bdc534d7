// What a limit of 100 a second really admits to four processes: a steady hammer, and the pattern that shows windows.
import { isAdmitted, isDecided } from './lib/load.mjs';
import { tagOf } from './lib/plan.mjs';
import { startChild } from './lib/processes.mjs';
import { mostWithin } from './lib/stats.mjs';

const POLICY = { limit: 100, windowMs: 1000 };
const PROCESSES = 4;
/** So many subjects at the same time: more would keep each other waiting. */
const HAMMERED = 6;
const AT_EDGE = 2;

const admitted = (records) => records.filter(([, , answer]) => isAdmitted(answer));
const undecided = (records) => records.filter(([, , answer]) => !isDecided(answer)).length / records.length;

/** Four processes ask 100 times a second each. */
async function hammer(children, asked, ms) {
  const ask = (child) => child.ask('paced', { ...asked, mode: 'hammer', perSecond: 100, ms });
  const records = (await Promise.all(children.map(ask))).flat();
  const inside = admitted(records);
  return { most: mostWithin(inside, 1000), total: inside.length / (ms / 1000), undecided: undecided(records) };
}

/** One early call, silence, then as many as fit at both sides of a window's end, whole seconds or since the call. */
async function edge(children, asked, atMs) {
  const all = (count, offset) => children.map((child) => child.ask('burst', { ...asked, count, atMs: atMs + offset }));
  const early = [children[0].ask('burst', { ...asked, count: 1, atMs: atMs + 10 })];
  const records = (await Promise.all([...early, ...all(40, 920), ...all(40, 1070)])).flat();
  return { most: mostWithin(admitted(records), 1000), undecided: undecided(records) };
}

const nextSecond = () => Math.ceil((Date.now() + 200) / 1000) * 1000;

/** In groups, one after the other. */
async function inGroups(names, size, work) {
  const found = [];
  for (let i = 0; i < names.length; i += size) found.push(...(await Promise.all(names.slice(i, i + size).map(work))));
  return found;
}

/** Most admissions in any one second that were sent and answered inside it. */
export async function runAccuracy({ module, subjects, at, hammerMs, edges }) {
  const names = Object.keys(subjects).filter((name) => subjects[name].modes === undefined);
  const children = await Promise.all(Array.from({ length: PROCESSES }, () => startChild(module, names, at, undefined)));
  const asked = (name, mode) => ({ name, ...POLICY, mode, tag: tagOf(subjects, name) });
  // Connections, scripts and limiters are there before anything counts.
  const warm = (name, mode) => children.map((child) => child.ask('fill', { ...asked(name, mode), count: 5, each: 1 }));
  await inGroups(names, HAMMERED, (name) => Promise.all([...warm(name, 'hammer'), ...warm(name, 'edge')]));
  const hammered = await inGroups(names, HAMMERED, (name) => hammer(children, asked(name, 'hammer'), hammerMs));
  const results = Object.fromEntries(names.map((name, i) => [name, { hammer: hammered[i], edge: { most: 0 } }]));
  for (let cycle = 0; cycle < edges; cycle++) {
    const startMs = nextSecond();
    await Promise.all(
      names.map(async (name, i) => {
        const found = await edge(children, asked(name, 'edge'), startMs + Math.floor(i / AT_EDGE) * 1000);
        if (found.most > results[name].edge.most) results[name].edge = found;
      }),
    );
  }
  for (const child of children) child.stop();
  return results;
}
