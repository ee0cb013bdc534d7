import { availableParallelism } from 'node:os';
import type { ServerConfig } from '../config/config.js';

/** How many processes are to serve. In memory each would count alone, so there `auto` is one. */
export function workersOf({ workers, store }: Pick<ServerConfig, 'workers' | 'store'>): number {
  if (workers !== 'auto') return workers;
  return store.url === 'memory' ? 1 : availableParallelism();
}
