import { availableParallelism } from 'node:os';
import { describe, expect, test } from 'vitest';
import type { Findings } from '../../../packages/server/src/alerts/rules.js';
import { onStoreAnswer, onStoreFailure } from '../../../packages/server/src/alerts/rules.js';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { restartNeeded } from '../../../packages/server/src/config/restart.js';
import { AlertFeed, Holders } from '../../../packages/server/src/workers/alert-facts.js';
import { Backoff } from '../../../packages/server/src/workers/backoff.js';
import { Collector } from '../../../packages/server/src/workers/collector.js';
import { workersOf } from '../../../packages/server/src/workers/count.js';
import { Once } from '../../../packages/server/src/workers/once.js';
import { rollOut } from '../../../packages/server/src/workers/rollout.js';

const load = (head: string) =>
  loadConfig(`${head}\ngateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }`, {});
const configOf = (head: string) => {
  const loaded = load(head);
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
};
const REDIS = 'store: redis://127.0.0.1:6379\n';

describe('the field workers', () => {
  test('is one unless somebody asks for more, and one in memory whatever the machine', () => {
    expect(workersOf(configOf('store: memory'))).toBe(1);
    expect(workersOf(configOf('workers: auto'))).toBe(1);
    expect(workersOf(configOf(`${REDIS}workers: auto`))).toBe(availableParallelism());
    expect(workersOf(configOf(`${REDIS}workers: 3`))).toBe(3);
  });

  test('is refused where each would count alone, with the field and what to do', () => {
    expect(load('store: memory\nworkers: 2')).toMatchObject({
      problems: [
        {
          line: 2,
          path: 'workers',
          message: 'each worker would count alone: with store: memory there can be only one',
          hint: 'set store: redis://127.0.0.1:6379 or another shared store, or workers: 1',
        },
      ],
    });
    for (const wrong of ['0', '129', '1.5', 'many'])
      expect(load(`${REDIS}workers: ${wrong}`)).toHaveProperty('problems');
  });

  test('needs a restart', () => {
    expect(restartNeeded(configOf(`${REDIS}workers: 2`), configOf(`${REDIS}workers: 3`))).toEqual(['workers']);
  });
});

describe('a worker that ended', () => {
  test('is replaced at once, then ever later, and at once again after a quiet minute', () => {
    const backoff = new Backoff();
    const waits = [0, 1, 2, 3, 4].map((atMs) => backoff.died(true, atMs));
    expect(waits).toEqual([0, 100, 200, 400, 800]);
    for (let i = 0; i < 20; i++) backoff.died(true, 5);
    expect(backoff.died(true, 5)).toBe(30_000);
    expect(backoff.isHopeless).toBe(false);
    expect(backoff.died(true, 60_006)).toBe(0);
  });

  test('is given up after five in a row that were never ready', () => {
    const backoff = new Backoff();
    for (let i = 0; i < 4; i++) backoff.died(false, i);
    backoff.ready();
    for (let i = 0; i < 4; i++) backoff.died(false, i);
    expect(backoff.isHopeless).toBe(false);
    expect(backoff.died(false, 9)).toBe(30_000);
    expect(backoff.isHopeless).toBe(true);
  });
});

test('what several workers say together is said once, and what one repeats is said again', () => {
  const once = new Once();
  const said = [
    once.isNew(1, 'lost', 0),
    once.isNew(2, 'lost', 1999),
    once.isNew(3, 'other', 1999),
    once.isNew(2, 'lost', 1999),
    once.isNew(1, 'lost', 9000),
  ];
  expect(said).toEqual([true, false, true, true, true]);
});

const LOST = onStoreFailure('p', { mode: 'local', cause: 'timeout', detail: '' });
const FOUND = onStoreAnswer('p');

describe('an alert', () => {
  test('is news once for each worker, and again after ten seconds so that it does not end by itself', () => {
    const feed = new AlertFeed();
    const news = (findings: Findings, atMs: number) => feed.news(findings, atMs);
    expect(news(FOUND, 0)).toBeUndefined();
    expect(news(LOST, 0)).toEqual({ raise: LOST.raise, clear: [] });
    expect(news(LOST, 9999)).toBeUndefined();
    expect(news(LOST, 10_000)).toEqual({ raise: LOST.raise, clear: [] });
    expect(news(FOUND, 10_001)).toEqual({ raise: undefined, clear: ['store.unavailable:p'] });
    expect(news(LOST, 10_002)).toEqual({ raise: LOST.raise, clear: [] });
  });

  test('is over when no worker sees its cause any more', () => {
    const holders = new Holders();
    for (const worker of [1, 2, 3]) expect(holders.told(worker, LOST).raise).toEqual(LOST.raise);
    expect(holders.told(1, FOUND).clear).not.toContain('store.unavailable:p');
    expect(holders.left(2).clear).toEqual([]);
    expect(holders.told(3, FOUND).clear).toContain('store.unavailable:p');
    holders.told(4, LOST);
    expect(holders.left(4).clear).toEqual(['store.unavailable:p']);
  });
});

describe('a question to all', () => {
  test('ends when all have answered or left', async () => {
    const collector = new Collector<string>(60_000);
    const answers = collector.ask([1, 2, 3], (to, id) => {
      if (to !== 3) collector.answered(to, id, `from ${to}`);
    });
    collector.left(3);
    expect([...(await answers).values()]).toEqual(['from 1', 'from 2']);
    expect(await collector.ask([], () => undefined)).toEqual(new Map());
  });

  test('does not wait for one that hangs, and takes nothing from it later', async () => {
    const collector = new Collector<string>(5);
    const ids: number[] = [];
    const answers = await collector.ask([1, 2], (to, id) => {
      ids.push(id);
      if (to === 1) collector.answered(1, id, 'in time');
    });
    expect([...answers]).toEqual([[1, 'in time']]);
    expect(collector.answered(2, ids[1] ?? 0, 'late')).toBe(false);
  });
});

describe('a configuration', () => {
  /** What each worker has, and which texts a worker refuses. */
  const workers = (refuses: Readonly<Record<number, string>>) => {
    const inForce = new Map([1, 2, 3].map((id) => [id, 'old']));
    const apply = async (id: number, text: string): Promise<string | undefined> => {
      if (refuses[id] === text) return `${id} cannot`;
      inForce.set(id, text);
      return undefined;
    };
    return { inForce, apply };
  };

  test('is taken by all workers', async () => {
    const { inForce, apply } = workers({});
    expect(await rollOut([1, 2, 3], { wanted: 'new', old: 'old' }, apply)).toBeUndefined();
    expect([...inForce.values()]).toEqual(['new', 'new', 'new']);
  });

  test('is taken by none when one cannot', async () => {
    const { inForce, apply } = workers({ 2: 'new' });
    expect(await rollOut([1, 2, 3], { wanted: 'new', old: 'old' }, apply)).toBe('2 cannot');
    expect([...inForce.values()]).toEqual(['old', 'old', 'old']);
  });
});
