import type { FailureMode } from 'comporta';
import { redisStore } from 'comporta/redis';
import { runWorker } from '../support/worker.js';
import { type App, apps, type Limits } from './drop-in-apps.js';

export interface DropInArgs {
  readonly url: string;
  readonly limits: Limits;
  readonly processes: number;
}

/** Requests of one client to one application, all at once or one after the other. */
export interface Order {
  readonly project: string;
  readonly variant: Variant;
  readonly client: string;
  readonly times: number;
  readonly isAtOnce: boolean;
}

export interface Outcome {
  readonly statuses: readonly number[];
  readonly slowestMs: number;
}

/** With a time limit that no answer of a busy machine breaks, or with the default one and a failure mode. */
export type Variant = 'patient' | FailureMode;
export const VARIANTS: readonly Variant[] = ['patient', 'local', 'open', 'closed'];

const PATIENT_MS = 20_000;

runWorker(async ({ url, limits, processes }: DropInArgs, channel): Promise<void> => {
  const store = redisStore(url, { onWarning: () => undefined });
  await store.ready(30_000);
  const started = new Map<string, App>();
  for (const [project, start] of Object.entries(apps)) {
    for (const variant of VARIANTS) {
      const name = `${project.replaceAll(/\W/g, '-')}.${variant}`;
      const mode =
        variant === 'patient'
          ? { timeoutMs: PATIENT_MS, onStoreFailure: 'closed' as const }
          : { onStoreFailure: variant, ...(variant === 'local' ? { instances: processes } : {}) };
      const given = { store, name, onEvent: () => undefined, ...mode };
      started.set(`${project} ${variant}`, await start(given, limits));
    }
  }
  channel.send('ready');
  for (;;) {
    const order = await channel.receive<Order | 'end'>();
    if (order === 'end') break;
    channel.send(await carryOut(order, started.get(`${order.project} ${order.variant}`) as App));
  }
  for (const app of started.values()) await app[Symbol.asyncDispose]();
  await store.close();
});

async function carryOut({ client, times, isAtOnce }: Order, app: App): Promise<Outcome> {
  let slowestMs = 0;
  const ask = async (): Promise<number> => {
    const sentMs = performance.now();
    const response = await fetch(app.url, { headers: { 'x-client': client } });
    await response.arrayBuffer();
    slowestMs = Math.max(slowestMs, performance.now() - sentMs);
    return response.status;
  };
  const statuses: number[] = [];
  if (isAtOnce) statuses.push(...(await Promise.all(Array.from({ length: times }, ask))));
  else for (let i = 0; i < times; i++) statuses.push(await ask());
  return { statuses, slowestMs };
}
