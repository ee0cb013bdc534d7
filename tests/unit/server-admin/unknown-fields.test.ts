import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp } from '../../../packages/server/src/app.js';
import { adminFile, type RunningAdmin, runningAdmin } from '../../e2e/admin-support.js';
import { configOf, recordLog } from '../../e2e/gateway-support.js';

let admin: RunningAdmin;
beforeAll(async () => {
  const { log, lines } = recordLog();
  admin = runningAdmin(await startApp(configOf(adminFile()), log), lines);
});
afterAll(() => admin.app.stop());

const override = async (more: object): Promise<unknown> => {
  const asked = { policy: 'per-key', subject: ['k1'], for: '1d', ...more };
  return (await admin.post('/admin/subjects/override', asked)).json;
};

test('an override with an unknown algorithm or field is answered with those that there are', async () => {
  const settings = { limit: 5, window: '1d' };
  expect(await override({ limits: { leaky: settings } })).toMatchObject({
    status: 400,
    field: 'limits.leaky',
    detail: expect.stringMatching(/^limits\.leaky: unknown field; known here: .*fixedWindow.*tokenBucket/),
  });
  expect(await override({ limits: [{ fixedWindo: settings }] })).toMatchObject({
    status: 400,
    field: 'limits[0].fixedWindo',
    detail: expect.stringContaining('did you mean "fixedWindow"?'),
  });
  expect(await override({ limits: { fixedWindow: { ...settings, burst: 1 } } })).toMatchObject({
    status: 400,
    field: 'limits.fixedWindow.burst',
    detail: expect.stringMatching(/known here: limit, window/),
  });
  expect(await override({ limit: settings })).toMatchObject({ detail: 'limit: unknown field; did you mean "limits"?' });
});
