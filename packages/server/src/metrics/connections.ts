import type { Server } from 'node:http';
import type { Registry } from './registry.js';

/** Counts the open connections of a server under the name of its door. */
export type CountConnections = (door: string, server: Pick<Server, 'on'>) => void;

export function measureConnections(registry: Registry): CountConnections {
  const open = new Map<string, number>();
  const options = { unit: '{connection}', description: 'Open connections of clients by door.' };
  registry.createObservableGauge('comporta.connections', options).addCallback(({ observe }) => {
    for (const [door, count] of open) observe(count, { 'comporta.door': door });
  });
  return (door, server) => {
    const add = (more: number): void => void open.set(door, (open.get(door) ?? 0) + more);
    add(0);
    server.on('connection', (socket) => {
      add(1);
      socket.once('close', () => add(-1));
    });
  };
}
