import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { memoryStore } from 'comporta';
import { FakeClock } from 'comporta/testing';
import { describe, expect, test } from 'vitest';
import { loadFile } from '../../packages/server/src/config/file.js';
import { casesOf, filesOf, type RlsCase, type Step } from '../unit/server-envoy/cases.js';
import { makeFolder } from './cli-support.js';
import { configIn, type RlsRequest, type RlsStatus, startDoor } from './envoy-support.js';

/** The file's settings of envoyproxy/ratelimit, as this service has them. */
function sectionOf({ options = {} }: RlsCase): object {
  return {
    mergeDomains: options.merge_domain_config === true,
    shadow: options.global_shadow_mode === true,
    quota: options.global_quota_mode === true,
    headers: options.response_headers === true,
    stopWhenOver: options.stop_increment_when_over_limit === true,
  };
}

async function start(rlsCase: RlsCase, mode = 'compatible') {
  const clock = new FakeClock(0);
  const texts = filesOf(rlsCase).map(({ text }) => text);
  const config = configIn(makeFolder(), texts, { ...sectionOf(rlsCase), mode });
  const door = await startDoor(config, { store: memoryStore({ clock }) });
  const goTo = (seconds: number): void => void clock.advance(seconds * 1000 - clock.nowUs() / 1000);
  return { ...door, goTo };
}

const toRequest = (domain: string, { descriptors, hits_addend: hits }: Omit<Step, 'now' | 'expect'>): RlsRequest => ({
  domain,
  ...(hits !== undefined && { hits_addend: hits }),
  descriptors: descriptors.map(({ hits_addend: own, ...descriptor }) => ({
    ...descriptor,
    ...(own !== undefined && { hits_addend: { value: own } }),
  })),
});

/** In the words of the cases, where what is left out is zero. */
function wordOf({ code, current_limit: limit, limit_remaining: left = 0, duration_until_reset: reset }: RlsStatus) {
  const current = limit && {
    requests_per_unit: limit.requests_per_unit ?? 0,
    unit: limit.unit,
    ...(limit.name !== undefined && limit.name !== '' && { name: limit.name }),
  };
  return {
    code,
    limit_remaining: left,
    ...(current && { current_limit: current, duration_until_reset_s: Number(reset?.seconds) }),
  };
}

describe('decided over gRPC as envoyproxy/ratelimit decides', () => {
  test.each(casesOf('decide'))('$name', async (rlsCase) => {
    const { ask, goTo } = await start(rlsCase);
    const { steps = [], domain } = rlsCase;
    for (const step of steps) {
      goTo(step.now);
      const request = toRequest(domain, step);
      if (rlsCase.expect.error !== undefined) {
        await expect(ask(request)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
        continue;
      }
      for (let i = 1; i < (step.repeat ?? 1); i++) await ask(request);
      const answer = await ask(request);
      expect(answer.overall_code).toBe(step.expect.overall_code);
      expect(answer.statuses.map(wordOf)).toEqual(step.expect.statuses);
      const headers = answer.response_headers_to_add.map(({ key, value }) => `${key}: ${value}`);
      expect(headers).toEqual(step.expect.response_headers_to_add ?? []);
    }
  });
});

describe('matched over gRPC as envoyproxy/ratelimit matches', () => {
  test.each(casesOf('match'))('$name', async (rlsCase) => {
    const { ask } = await start(rlsCase);
    const { statuses } = await ask(toRequest(rlsCase.domain, rlsCase));
    const { limits = [] } = rlsCase.expect;
    expect(statuses.length).toBe(limits.length);
    for (const [i, limit] of limits.entries()) {
      const found = statuses[i];
      if (limit === null || limit.replaced === true || limit.unlimited === true) {
        expect(found?.current_limit).toBeUndefined();
        expect(found?.limit_remaining ?? 0).toBe(
          limit?.unlimited === true && limit.replaced !== true ? 2 ** 32 - 1 : 0,
        );
      } else {
        const { requests_per_unit: requests, unit, name = '' } = limit;
        expect(found?.current_limit).toMatchObject({ unit });
        expect(found?.current_limit?.requests_per_unit ?? 0).toBe(requests);
        expect(found?.current_limit?.name ?? '').toBe(name);
      }
    }
  });
});

describe('refused before anything starts, with file and line', () => {
  test.each(casesOf('load_error'))('$name', (rlsCase) => {
    const folder = makeFolder();
    const names = filesOf(rlsCase).map(({ file, text }) => {
      writeFileSync(join(folder, file), text);
      return file;
    });
    const file = join(folder, 'comporta.yaml');
    const { mergeDomains } = sectionOf(rlsCase) as { readonly mergeDomains: boolean };
    writeFileSync(file, JSON.stringify({ envoy: { listen: '127.0.0.1:0', config: names, mergeDomains } }));
    const content = loadFile(file, {});
    const problems = 'problems' in content ? content.problems : [];
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) {
      expect(names.map((name) => join(folder, name))).toContain(problem.file);
      expect(problem.line).toBeGreaterThan(0);
    }
  });
});
