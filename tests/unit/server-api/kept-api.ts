import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { startApp } from '../../../packages/server/src/app.js';
import { apiFile, type RunningApi, running } from '../../e2e/api-support.js';
import { configOf, recordLog } from '../../e2e/gateway-support.js';

/** Descriptors are served too: those of the file beside this one. */
export const envoy = {
  listen: '127.0.0.1:0',
  config: join(import.meta.dirname, 'domains.yaml'),
  drainDelay: 0,
};

/** One process for all tests of a file: nothing in them changes it for the others. */
export function keptApi(api: object = {}, rest: object = {}): { readonly running: RunningApi } {
  let kept: RunningApi | undefined;
  beforeAll(async () => {
    const { log, lines } = recordLog();
    kept = running(await startApp(configOf(apiFile(api, rest)), log), lines);
  });
  afterAll(() => kept?.app.stop());
  return {
    get running() {
      if (kept === undefined) throw new Error('the API runs during tests only');
      return kept;
    },
  };
}
