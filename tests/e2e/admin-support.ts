import { type App, startApp } from '../../packages/server/src/app.js';
import { type Answer, type Ask, ask } from './api-support.js';
import { configOf, onCleanup, recordLog } from './gateway-support.js';

export const READ = 'a-read-token-of-the-tests';
export const OPERATE = 'an-operate-token-of-the-tests';
const API = 'an-api-token-of-the-tests';

/** A policy whose key is a header; admits ten at once. */
export const perKey = {
  name: 'per-key',
  key: 'header:x-api-key',
  limits: { tokenBucket: { capacity: 10, refill: 10, every: '1d' } },
  plans: { pro: { tokenBucket: { capacity: 50, refill: 50, every: '1d' } } },
  blocks: true,
  overrides: true,
};

export const adminFile = (admin: object = {}, rest: object = {}): object => ({
  policies: [perKey, { name: 'plain', key: 'global', limits: { fixedWindow: { limit: 5, window: '1d' } } }],
  api: { listen: '127.0.0.1:0', tokens: API },
  admin: {
    listen: '127.0.0.1:0',
    tokens: [
      { token: READ, role: 'read', name: 'viewer' },
      { token: OPERATE, role: 'operate', name: 'ada' },
    ],
    ...admin,
  },
  ...rest,
});

export interface RunningAdmin {
  readonly app: App;
  readonly port: number;
  readonly lines: readonly string[];
  ask(path: string, given?: Ask): Promise<Answer>;
  get(path: string, token?: string): Promise<Answer>;
  post(path: string, body: unknown, token?: string): Promise<Answer>;
  /** Charges through the decision API. */
  consume(subject: readonly string[], more?: object): Promise<Readonly<Record<string, unknown>>>;
}

export function runningAdmin(app: App, lines: readonly string[]): RunningAdmin {
  const port = app.admin?.port ?? 0;
  const json = { 'content-type': 'application/json' };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  return {
    app,
    port,
    lines,
    ask: (path, given) => ask(port, path, given),
    get: (path, token = READ) => ask(port, path, { headers: bearer(token) }),
    post: (path, body, token = OPERATE) =>
      ask(port, path, { method: 'POST', headers: { ...json, ...bearer(token) }, body: JSON.stringify(body) }),
    consume: async (subject, more = {}) => {
      const body = JSON.stringify({ policy: 'per-key', subject, ...more });
      const headers = { ...json, ...bearer(API) };
      return (await ask(app.api?.port ?? 0, '/v1/consume', { method: 'POST', headers, body })).json ?? {};
    },
  };
}

/** A process with an admin API on a free port; `admin` adds to its section, `rest` to the file. */
export async function startAdmin(admin: object = {}, rest: object = {}): Promise<RunningAdmin> {
  const { log, lines } = recordLog();
  const app = await startApp(configOf(adminFile(admin, rest)), log);
  onCleanup(() => app.stop());
  return runningAdmin(app, lines);
}
