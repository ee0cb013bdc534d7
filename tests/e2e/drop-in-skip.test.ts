import { comportaStore as expressStore } from 'comporta/express-rate-limit';
import { comportaStore as honoStore } from 'comporta/hono-rate-limiter';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { expect, test } from 'vitest';
import { listenExpress } from '../cluster/drop-in-apps.js';
import { until } from '../support/wait.js';

type Skip = 'skipFailedRequests' | 'skipSuccessfulRequests';

/** A request that is answered with a status, when it is told to; refused ones are answered at once. */
interface Sent {
  readonly answered: Promise<number>;
  end(): void;
}

/** An application whose requests take as long as the test wants, with a store of ours or with the project's own. */
interface App {
  send(status: number): Promise<Sent>;
  stop(): Promise<void>;
}

/** Handlers that wait for the test. */
class Gates {
  readonly #ends: Map<string, () => void> = new Map();
  #count = 0;

  next(): string {
    return String(this.#count++);
  }

  wait(id: string): Promise<void> {
    return new Promise((resolve) => this.#ends.set(id, resolve));
  }

  /** Once the request has reached its handler, or was refused before. */
  async sent(id: string, answered: Promise<number>): Promise<Sent> {
    let isOver = false;
    void answered.then(() => {
      isOver = true;
    });
    await until(async () => isOver || this.#ends.has(id), { everyMs: 1, what: 'a request at its handler' });
    return { answered, end: () => this.#ends.get(id)?.() };
  }
}

async function onExpress(isOurs: boolean, skip: Skip, limit: number): Promise<App> {
  const gates = new Gates();
  const store = isOurs ? { store: expressStore() } : {};
  const app = express();
  app.use(rateLimit({ ...store, limit, windowMs: 60_000, keyGenerator: () => 'a', [skip]: true }));
  app.get('/:id/:status', async ({ params }, response) => {
    await gates.wait(params.id);
    response.sendStatus(Number(params.status));
  });
  const at = await listenExpress(app);
  const send = (status: number): Promise<Sent> => {
    const id = gates.next();
    return gates.sent(
      id,
      fetch(`${at.url}/${id}/${status}`).then(async (response) => {
        await response.arrayBuffer();
        return response.status;
      }),
    );
  };
  return { send, stop: () => at[Symbol.asyncDispose]() };
}

async function onHono(isOurs: boolean, skip: Skip, limit: number): Promise<App> {
  const gates = new Gates();
  const store = isOurs ? { store: honoStore() } : {};
  const app = new Hono();
  app.use(rateLimiter({ ...store, limit, windowMs: 60_000, keyGenerator: () => 'a', [skip]: true }));
  app.get('/:id/:status', async (context) => {
    await gates.wait(context.req.param('id'));
    return context.text('', Number(context.req.param('status')) as 200);
  });
  const send = (status: number): Promise<Sent> => {
    const id = gates.next();
    return gates.sent(
      id,
      Promise.resolve(app.request(`/${id}/${status}`)).then((response) => response.status),
    );
  };
  return { send, stop: async () => undefined };
}

/** A number begins a request with that status; `end` ends those that are under way, the first begun first. */
type Script = readonly (number | 'end')[];

async function statusesOf(app: App, script: Script): Promise<number[]> {
  const sent: Sent[] = [];
  const endAll = async (): Promise<void> => {
    for (const { answered, end } of sent) {
      end();
      await answered;
    }
    // What is given back after a response is under way still.
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  for (const step of script) {
    if (step === 'end') await endAll();
    else sent.push(await app.send(step));
  }
  await endAll();
  const statuses = await Promise.all(sent.map(({ answered }) => answered));
  await app.stop();
  return statuses;
}

const repeated = (status: number, times: number): number[] => Array.from({ length: times }, () => status);

// Ours charge nothing for refusals: scripts in which the projects' own count them, and so refuse more, are not here.
test.each<[string, typeof onExpress, Skip, number, Script]>([
  ['Express, a refusal while a failure is under way', onExpress, 'skipFailedRequests', 1, [500, 200, 'end', 200, 200]],
  ['Express, many failures at once', onExpress, 'skipFailedRequests', 150, [...repeated(500, 150), 'end', 200, 200]],
  ['Express, failures and successes', onExpress, 'skipFailedRequests', 2, [200, 500, 200, 'end', 500, 'end', 200, 200]],
  [
    'Express, refused logins',
    onExpress,
    'skipSuccessfulRequests',
    2,
    [200, 401, 'end', 200, 'end', 200, 'end', 401, 200],
  ],
  [
    'Hono, a refusal while a success is under way',
    onHono,
    'skipSuccessfulRequests',
    1,
    [200, 401, 'end', 200, 'end', 200],
  ],
  ['Hono, many failures at once', onHono, 'skipFailedRequests', 150, [...repeated(500, 150), 'end', 200, 200]],
  ['Hono, refused logins', onHono, 'skipSuccessfulRequests', 2, [401, 401, 200, 200, 'end', 200]],
])('%s: as with the own store', async (_, start, skip, limit, script) => {
  const own = await statusesOf(await start(false, skip, limit), script);
  const ours = await statusesOf(await start(true, skip, limit), script);
  expect(ours).toEqual(own);
});

test('Hono: refusals of an earlier window take nothing from failures of this one', async () => {
  const windowMs = 400;
  const run = async (isOurs: boolean): Promise<number[]> => {
    const store = isOurs ? { store: honoStore({ algorithm: 'fixedWindow' }) } : {};
    const app = new Hono();
    app.use(rateLimiter({ ...store, limit: 2, windowMs, keyGenerator: () => 'a', skipFailedRequests: true }));
    app.get('/:status', (context) => context.text('', Number(context.req.param('status')) as 200));
    const statuses: number[] = [];
    const ask = async (...all: number[]): Promise<void> => {
      for (const each of all) statuses.push((await app.request(`/${each}`)).status);
    };
    await ask(200, 200, 200, 200);
    await new Promise((resolve) => setTimeout(resolve, windowMs + 50));
    await ask(500, 500, 200, 200, 200);
    return statuses;
  };
  const own = await run(false);
  expect(own).toEqual([200, 200, 429, 429, 500, 500, 200, 200, 429]);
  expect(await run(true)).toEqual(own);
});
