import { memoryStore } from 'comporta';
import { FakeClock } from 'comporta/testing';
import { expect, test } from 'vitest';
import type { Hits, Status } from '../../../packages/server/src/envoy/answer.js';
import { RateLimitService } from '../../../packages/server/src/envoy/service.js';
import { UNITS, type Unit } from '../../../packages/server/src/envoy/units.js';
import { casesOf, domainsOf, type RlsCase, type Step } from './cases.js';

const codeOf = (isOver: boolean): string => (isOver ? 'OVER_LIMIT' : 'OK');

function wordOf({ isOver, limit, remaining, resetSeconds }: Status) {
  const current = limit && {
    requests_per_unit: limit.requestsPerUnit,
    unit: limit.unit,
    ...(limit.name !== '' && { name: limit.name }),
  };
  return {
    code: codeOf(isOver),
    limit_remaining: remaining,
    ...(current && { current_limit: current, duration_until_reset_s: resetSeconds }),
  };
}

/** The service of a case, with its counters in memory. */
function start(rlsCase: RlsCase) {
  const clock = new FakeClock(0);
  const { options = {}, domain } = rlsCase;
  const service = new RateLimitService(domainsOf(rlsCase), {
    mode: 'compatible',
    limiters: { store: memoryStore({ clock }) },
    stopsWhenOver: options.stop_increment_when_over_limit === true,
    isShadow: options.global_shadow_mode === true,
    isQuota: options.global_quota_mode === true,
    addsHeaders: options.response_headers === true,
  });
  return async ({ now, descriptors, hits_addend: hitsAddend = 0 }: Step) => {
    clock.advance(now * 1000 - clock.nowUs() / 1000);
    return service.decide({ domain, hitsAddend, descriptors: descriptors.map(toDescriptor) });
  };
}

const toDescriptor = ({ entries, hits_addend: hitsAddend, limit }: Step['descriptors'][number]) => ({
  entries,
  hitsAddend,
  limit: limit && { requestsPerUnit: limit.requests_per_unit, unit: UNITS.indexOf(limit.unit as Unit) + 1 },
});

function add(stats: Map<string, Hits>, statuses: readonly Status[]): void {
  for (const { hits } of statuses) {
    if (hits === undefined) continue;
    const old = stats.get(hits.statsKey);
    const sum = (name: 'total' | 'overLimit' | 'nearLimit' | 'withinLimit' | 'shadowMode') =>
      hits[name] + (old?.[name] ?? 0);
    stats.set(hits.statsKey, {
      statsKey: hits.statsKey,
      total: sum('total'),
      overLimit: sum('overLimit'),
      nearLimit: sum('nearLimit'),
      withinLimit: sum('withinLimit'),
      shadowMode: sum('shadowMode'),
    });
  }
}

test.each(casesOf('decide'))('$name', async (rlsCase) => {
  const decide = start(rlsCase);
  const stats = new Map<string, Hits>();
  const { steps = [] } = rlsCase;
  if (rlsCase.expect.error !== undefined) {
    await expect(decide(steps[0] as Step)).rejects.toThrow('must not be empty');
    return;
  }
  for (const step of steps) {
    for (let i = 1; i < (step.repeat ?? 1); i++) add(stats, (await decide(step)).statuses);
    const { isOver, statuses, headers } = await decide(step);
    add(stats, statuses);
    expect(codeOf(isOver)).toBe(step.expect.overall_code);
    expect(statuses.map(wordOf)).toEqual(step.expect.statuses);
    expect(headers.map((field) => field.join(': '))).toEqual(step.expect.response_headers_to_add ?? []);
  }
  for (const [name, expected] of Object.entries(rlsCase.expect.stats ?? {})) {
    const hits = stats.get(name);
    const found = {
      total_hits: hits?.total,
      over_limit: hits?.overLimit,
      near_limit: hits?.nearLimit,
      within_limit: hits?.withinLimit,
      shadow_mode: hits?.shadowMode,
    };
    const { over_limit_with_local_cache: _, ...comparable } = expected;
    expect(found).toMatchObject(comparable);
  }
});
