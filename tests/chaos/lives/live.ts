import { pick, randomOf } from '../../../scripts/fuzz/random.mjs';
import { sleep, until } from '../../support/wait.js';
import { startChild } from '../child.js';
import type { LivesArgs, Order, Report } from './child.js';
import { type Chance, events } from './events.js';
import type { Ground } from './ground.js';
import { kinds } from './kinds.js';

const CLIENTS = 8;
const EVENTS_MAX = 6;
/** The longest that a new connection may wait to be begun anew, an attempt with it, and a busy machine. */
const BACK_MS = 6000;
const LATE_MS = 50;
const ENDS_MS = 6000;
/** An event that waits for a frozen server is left to the mending. */
const EVENT_MS = 8000;

export interface Told {
  /** What befell whom, in order. */
  readonly story: readonly string[];
  readonly slowestMs: number;
  readonly faults: readonly string[];
}

function chanceOf(seed: number): Chance {
  const below = randomOf(seed);
  return { below, ms: (from, to) => Math.round(from * (to / from) ** (below(1000) / 1000)) };
}

/** Some clients in one process, some events, then all is well: what of the promises did not hold. */
export async function live(ground: Ground, seed: number, only = ''): Promise<Told> {
  const chance = chanceOf(seed);
  const able = kinds.filter(({ topologies, name }) => topologies.includes(ground.topology) && name.includes(only));
  const names = Array.from({ length: CLIENTS }, () => pick(chance.below, able).name);
  const args: LivesArgs = { topology: ground.topology, names };
  const child = startChild<string[]>(new URL('./child.ts', import.meta.url), args);
  const order = (given: Order): void => child.send(given);
  const report = async (): Promise<Report[]> => {
    order({ what: 'report' });
    return child.receive<Report[]>();
  };
  try {
    // Half of them come in the middle of it.
    const joining = names.map(async (_, index) => {
      const afterMs = chance.below(2) === 0 ? 0 : chance.ms(10, 5000);
      const place = await ground.placeFor(index);
      await sleep(afterMs);
      order({ what: 'open', index, place });
    });
    if (chance.below(3) > 0) await sleep(600);
    const story = await befall(ground, chance);
    await Promise.all(joining);
    await ground.mend();
    order({ what: 'well' });
    const areBack = async () => {
      const reports = await report();
      return reports.length === names.length && reports.every(({ backAfterMs }) => backAfterMs !== undefined);
    };
    await until(areBack, { timeoutMs: BACK_MS }).catch(() => undefined);
    const reports = await report();
    const faults = [...faultsOf(reports, names), ...(await leaks(ground, names)), ...(await chargedTwice(ground))];
    order({ what: 'end' });
    faults.push(...(await endOf(child)));
    return { story, slowestMs: Math.max(...reports.map(({ backAfterMs }) => backAfterMs ?? BACK_MS)), faults };
  } finally {
    child.kill();
    for (const gate of ground.gates) gate.close();
  }
}

async function befall(ground: Ground, chance: Chance): Promise<string[]> {
  const story: string[] = [];
  const running: Promise<unknown>[] = [];
  for (let count = 1 + chance.below(EVENTS_MAX); count > 0; count--) {
    const name = pick(chance.below, Object.keys(events));
    const which = chance.below(ground.nodes.length);
    const [server, gate] = [ground.nodes[which], ground.gates[which]];
    const own = chanceOf(chance.below(2 ** 31));
    if (server === undefined || gate === undefined || !server.responsive) continue;
    story.push(`${name} (${which})`);
    const happens = Promise.resolve().then(() => events[name]?.({ server, gate, ground, chance: own }));
    const over = Promise.race([happens.catch(() => undefined), sleep(EVENT_MS)]);
    running.push(over);
    if (chance.below(3) > 0) await over;
    await sleep(chance.ms(1, 1200));
  }
  await Promise.all(running);
  return story;
}

function faultsOf(reports: readonly Report[], names: readonly string[]): string[] {
  const late = reports.filter(({ lateMs }) => lateMs > LATE_MS);
  const away = reports.filter(({ backAfterMs }) => backAfterMs === undefined);
  return [
    ...(reports.length < names.length ? [`${names.length - reports.length} clients could not be made`] : []),
    ...away.map(({ name, detail }) => `${name}: no decisions of the store (${detail})`),
    ...late.map(({ name, lateMs }) => `${name}: ${lateMs.toFixed(0)} ms beyond the time limit`),
  ];
}

/** One connection to a server, and in a cluster one more that may be passing or listens to the others. */
async function leaks(ground: Ground, names: readonly string[]): Promise<string[]> {
  const most = ground.topology === 'single' ? 1 : 2;
  const found = () =>
    names.flatMap((name, i) => {
      const open = ground.openOf(i);
      return Math.max(...open) > most ? [`${name}: ${open} connections`] : [];
    });
  await until(() => found().length === 0, { timeoutMs: 4000 }).catch(() => undefined);
  return found();
}

async function chargedTwice(ground: Ground): Promise<string[]> {
  const lists = ground.nodes.map(async (node) => {
    const keys = (await node.command('KEYS', 'cmp1:*:life*')) as string[];
    const counts = await Promise.all(keys.map((key) => node.command('GET', key).catch(() => 0)));
    // Written to a replica this is refused, and done at its primary.
    await node.command('FLUSHALL').catch(() => undefined);
    return keys.filter((_, i) => Number(counts[i]) > 1).map((key) => `${key}: charged twice`);
  });
  return (await Promise.all(lists)).flat();
}

async function endOf(child: ReturnType<typeof startChild<string[]>>): Promise<string[]> {
  const left = await child.result;
  const ended = await Promise.race([child.ended, sleep(ENDS_MS)]);
  if (ended === undefined) return [`the process does not end: ${left}`];
  return ended.code === 0 ? [] : [`the process ended with ${ended.signal ?? ended.code}: ${ended.complaints}`];
}
