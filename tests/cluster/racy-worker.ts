import { createCluster } from 'redis';
import { runWorker } from '../support/worker.js';
import type { Admission } from './exactness.js';
import { monotonicUs } from './monotonic.js';
import { HOT_BUCKET, HOT_WINDOW } from './rules.js';

export interface RacyArgs {
  readonly ports: readonly number[];
  readonly subject: string;
  readonly inFlight: number;
  readonly forMs: number;
}

export interface RacyLog {
  readonly bucket: readonly Admission[];
  readonly window: readonly Admission[];
}

type Client = ReturnType<typeof connectTo>;
type Decide = (client: Client, key: string, nowUs: number) => Promise<boolean>;

// The same rules in the way that many limiters are written: read, decide here, write. Right for one
// caller at a time, and the control that shows that the checks can fail.
runWorker(async ({ ports, subject, inFlight, forMs }: RacyArgs, channel): Promise<RacyLog> => {
  const client = connectTo(ports);
  await client.connect();
  channel.send('ready');
  await channel.receive();
  const endUs = monotonicUs() + forMs * 1000;
  const run = (name: string, decide: Decide) => load(client, `{${subject}}:racy:${name}`, decide, endUs, inFlight);
  const [bucket, window] = await Promise.all([run('bucket', takeToken), run('window', enterWindow)]);
  client.destroy();
  return { bucket, window };
});

function connectTo(ports: readonly number[]) {
  return createCluster({ rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) });
}

async function load(
  client: Client,
  key: string,
  decide: Decide,
  endUs: number,
  inFlight: number,
): Promise<Admission[]> {
  const admissions: Admission[] = [];
  const loop = async (): Promise<void> => {
    for (let sentUs = monotonicUs(); sentUs < endUs; sentUs = monotonicUs()) {
      const atUs = Date.now() * 1000;
      if (await decide(client, key, atUs)) admissions.push({ atUs, sentUs, heardUs: monotonicUs() });
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return admissions;
}

async function takeToken(client: Client, key: string, nowUs: number): Promise<boolean> {
  const nowMs = Math.floor(nowUs / 1000);
  const [level = HOT_BUCKET.capacity, atMs = nowMs] =
    ((await client.get(key)) ?? undefined)?.split(' ').map(Number) ?? [];
  const tokens = Math.min(HOT_BUCKET.capacity, level + Math.max(0, nowMs - atMs) * HOT_BUCKET.rate);
  if (tokens < 1) return false;
  await client.set(key, `${tokens - 1} ${Math.max(nowMs, atMs)}`);
  return true;
}

async function enterWindow(client: Client, key: string, nowUs: number): Promise<boolean> {
  const used = await client.zCount(key, `(${nowUs - HOT_WINDOW.windowMs * 1000}`, '+inf');
  if (used >= HOT_WINDOW.limit) return false;
  await client.zAdd(key, { score: nowUs, value: `${nowUs} ${Math.random()}` });
  return true;
}
