import type { Redis as Ioredis6 } from 'ioredis';
import type { Redis as Ioredis5 } from 'ioredis5';
import { afterEach } from 'vitest';
import { loadClient } from '../clients/load.js';
import { until } from '../support/wait.js';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

/** Runs before the clients of this test end. */
export const beforeEnd = (end: () => unknown): number => endings.unshift(end);

export interface Endable {
  on?(event: 'error', listener: () => void): unknown;
  connect?(): Promise<unknown>;
  destroy?(): void;
  disconnect?(): unknown;
  close?(): unknown;
}

/** Ends it after the test, however this client is ended. */
export function mine<Client extends object>(made: Client): Client {
  const client: Endable = made;
  client.on?.('error', () => undefined);
  const end = () => client.destroy?.() ?? client.disconnect?.() ?? client.close?.();
  endings.push(async () => {
    // Some are closed by then, and say so.
    await Promise.resolve()
      .then(end, () => undefined)
      .catch(() => undefined);
  });
  return made;
}

export async function connected<Client extends object>(made: Client): Promise<Client> {
  await (mine(made) as Endable).connect?.();
  return made;
}

interface OldRedis {
  createClient(options: object): Endable;
  createCluster(options: object): Endable;
}
export const redis4 = () => loadClient('redis4') as OldRedis;

interface Glide {
  readonly Logger: { setLoggerConfig(level: 'off'): void };
  readonly GlideClient: { createClient(options: object): Promise<object> };
  readonly GlideClusterClient: { createClient(options: object): Promise<object> };
  readonly Batch: new (isAtomic: boolean) => object;
}
export function glide(): Glide {
  const loaded = loadClient('@valkey/valkey-glide') as Glide;
  loaded.Logger.setLoggerConfig('off');
  return loaded;
}
export const places = (servers: readonly { readonly host: string; readonly port: number }[]) => ({
  addresses: servers,
});

export type Make = () => object | Promise<object>;

export async function ready(client: Ioredis6 | Ioredis5): Promise<void> {
  await until(() => mine(client).status === 'ready');
}
