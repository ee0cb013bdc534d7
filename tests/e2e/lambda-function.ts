import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { fixedWindow, slidingWindow } from 'comporta';
import { withRateLimit } from 'comporta/lambda';
import { redisStore } from 'comporta/redis';

/** What an invocation tells of itself. */
export interface Told {
  /** Of the decision. */
  readonly tookMs: number;
  /** How late a plain timer of the time limit's length was, where the decision took as long: a busy machine. */
  readonly lateMs: number;
  readonly degraded: string | undefined;
}

// At module scope, as in the guide: one client and one connection for the life of an environment.
const store = redisStore(process.env.REDIS_URL ?? '', { onWarning: () => undefined });
await store.ready(2000).catch(() => undefined);

const LIMIT_MS = 50;
let startMs = 0;
let told: Omit<Told, 'lateMs'> = { tookMs: 0, degraded: undefined };

const limited = withRateLimit(
  async (event: APIGatewayProxyEventV2) => {
    if (event.rawPath === '/throws') throw new RangeError('mine');
    return { statusCode: event.rawPath === '/fails' ? 500 : 200, body: 'hello' };
  },
  {
    store,
    timeoutMs: LIMIT_MS,
    onStoreFailure: 'open',
    policies: [
      // Without a time that a busy machine could miss.
      { name: 'exact', match: { path: '/exact' }, limits: slidingWindow({ limit: 20, window: '1h' }), timeoutMs: 5000 },
      { name: 'steady', match: { path: '/steady' }, limits: slidingWindow({ limit: 100_000, window: '1h' }) },
      {
        name: 'failures',
        match: { path: ['/works', '/fails', '/throws'] },
        limits: fixedWindow({ limit: 100, window: '1d', align: 'first-hit' }),
        count: 'failures',
        timeoutMs: 5000,
      },
    ],
    onVerdict: ({ decisions }) => {
      told = { tookMs: performance.now() - startMs, degraded: decisions[0]?.degraded?.cause };
    },
  },
);

/** The limited function, with what its invocation tells beside the answer. */
export async function handler(event: APIGatewayProxyEventV2, context: object): Promise<object> {
  startMs = performance.now();
  const timer = new Promise<number>((resolve) => {
    setTimeout(() => resolve(performance.now() - startMs - LIMIT_MS), LIMIT_MS);
  });
  const answer = await limited(event, context);
  const lateMs = told.tookMs < LIMIT_MS ? 0 : await timer;
  return { ...answer, told: { ...told, lateMs } };
}
