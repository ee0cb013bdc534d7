import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installedKinds } from '../support/servers.js';
import { type Cell, cells } from './matrix/cells.js';
import { clientNames } from './matrix/clients.js';
import { faults } from './matrix/faults.js';
import { type Ground, type Topology, topologies } from './matrix/ground.js';
import { lineOf, startGround } from './matrix/matrix.js';
import { runCell } from './matrix/run-cell.js';

/** `npm run chaos` runs all; here every fault, every client and every topology has its turn. */
const selection: Readonly<Record<Topology, readonly (readonly [client: string, fault: string])[]>> = {
  single: [
    ['store URL', 'black-holed'],
    ['ioredis 6', 'reply lost'],
    ['ioredis 5', 'refused'],
    ['node-redis 6', 'reply cut'],
    ['node-redis 5', 'slow'],
    ['iovalkey', 'frozen'],
    ['store URL', 'LOADING'],
    ['ioredis 6', 'full'],
    ['node-redis 6', 'permission lost'],
    ['node-redis 5', 'script flush'],
  ],
  sentinel: [
    ['store URL', 'frozen, failover'],
    ['ioredis 6', 'killed, failover'],
    ['iovalkey', 'demoted'],
  ],
  cluster: [
    ['store URL', 'killed, failover'],
    ['node-redis 5', 'frozen, failover'],
    ['ioredis 5', 'resharding'],
    ['ioredis 6', 'demoted'],
    ['node-redis 6', 'black-holed'],
  ],
};

const selected = (topology: Topology): Cell[] =>
  selection[topology].map(([client, fault]) => {
    const found = cells.find(
      (cell) => cell.topology === topology && cell.client === client && cell.fault.name === fault,
    );
    if (found === undefined) throw new Error(`no cell ${topology} ${client} ${fault}`);
    return found;
  });

describe.each(topologies)('%s', (topology) => {
  let ground: Ground;
  beforeAll(async () => {
    ground = await startGround(topology, installedKinds()[0] ?? 'redis');
  });
  afterAll(() => ground?.close());

  test.each(selected(topology).map((cell) => [`${cell.client}, ${cell.fault.name}`, cell] as const))(
    '%s: every goal is met',
    async (_, cell) => {
      const outcome = await runCell(cell, ground);
      console.log(lineOf(outcome));
      expect(outcome.missed.map(({ text }) => text)).toEqual([]);
    },
  );
});

test('the selection has every client and every fault', () => {
  const names = topologies.flatMap(selected).map(({ client, fault }) => [client, fault.name] as const);
  expect(new Set(names.map(([client]) => client))).toEqual(new Set(clientNames));
  expect(new Set(names.map(([, fault]) => fault))).toEqual(new Set(faults.map(({ name }) => name)));
});
