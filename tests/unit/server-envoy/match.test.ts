import { describe, expect, test } from 'vitest';
import { loadDomains } from '../../../packages/server/src/envoy/load.js';
import { matchOf, overrideOf, replacedIn } from '../../../packages/server/src/envoy/match.js';
import { unitNamed } from '../../../packages/server/src/envoy/units.js';
import { casesOf, domainsOf, filesOf, type RlsCase } from './cases.js';

/** What a case says of one descriptor, of what is decided without a counter. */
function limitsOf(rlsCase: RlsCase): unknown[] {
  const domain = domainsOf(rlsCase).get(rlsCase.domain);
  const matches = rlsCase.descriptors.map(({ entries, limit }) => {
    if (domain === undefined) return undefined;
    const unit = unitNamed(limit?.unit);
    if (limit === undefined || unit === undefined) return matchOf(domain, entries);
    return overrideOf(domain, entries, { requestsPerUnit: limit.requests_per_unit, unit });
  });
  const replaced = replacedIn(matches);
  return matches.map((match, i) => {
    if (match === undefined) return null;
    const { rule, counted, statsKey } = match;
    return {
      ...(rule.rate && { requests_per_unit: rule.rate.requestsPerUnit, unit: rule.rate.unit }),
      ...(rule.isUnlimited && { unlimited: true }),
      ...(rule.name !== '' && { name: rule.name }),
      ...(replaced[i] && { replaced: true }),
      ...(rule.isShadow && { shadow_mode: true }),
      ...(rule.isQuota && { quota_mode: true }),
      metadata: rule.metadata,
      stats_key: statsKey,
      counted: counted.map(({ key, value }) => `${key}_${value}`).join('_'),
    };
  });
}

/** The window's start is the store's: of the counter's name only the rest is known here. */
const counterOf = (domain: string, key: string): string => key.slice(domain.length + 1).replace(/_\d+$/, '');

describe('compatible with envoyproxy/ratelimit', () => {
  test('there are cases', () => {
    expect(casesOf('match').length).toBeGreaterThan(30);
    expect(casesOf('load_error').length).toBeGreaterThan(10);
  });

  test.each(casesOf('match'))('$name', (rlsCase) => {
    const found = limitsOf(rlsCase);
    const { limits = [] } = rlsCase.expect;
    expect(found.length).toBe(limits.length);
    for (const [i, limit] of limits.entries()) {
      if (limit === null) {
        expect(found[i]).toBeNull();
        continue;
      }
      const { cache_key_at_1234: key, share_threshold_patterns: _, ...expected } = limit;
      expect(found[i]).toMatchObject(
        key === undefined ? expected : { ...expected, counted: counterOf(rlsCase.domain, key) },
      );
      for (const flag of ['unlimited', 'replaced', 'shadow_mode', 'quota_mode'])
        if (!(flag in expected)) expect(found[i]).not.toHaveProperty(flag);
    }
  });

  test.each(casesOf('load_error'))('refused: $name', (rlsCase) => {
    const loaded = loadDomains(filesOf(rlsCase), {
      mode: 'compatible',
      mergesDomains: rlsCase.options?.merge_domain_config === true,
    });
    expect(loaded).toHaveProperty('problems');
  });
});

describe('strict', () => {
  const strict = (text: string) => {
    const loaded = loadDomains([{ file: 'shop.yaml', text }], { mode: 'strict' });
    if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
    return loaded.domains;
  };

  test('a key and a value are never joined', () => {
    const domain = strict(`
domain: shop
descriptors:
  - { key: a_b, rate_limit: { requests_per_unit: 1, unit: minute } }
  - { key: a, rate_limit: { requests_per_unit: 2, unit: minute } }
`).get('shop');
    expect(domain && matchOf(domain, [{ key: 'a', value: 'b' }])?.rule.rate?.requestsPerUnit).toBe(2);
    expect(domain && matchOf(domain, [{ key: 'a_b', value: '' }])?.rule.rate?.requestsPerUnit).toBe(1);
  });

  test('a descriptor has limits with algorithms', () => {
    const domain = strict(`
domain: shop
descriptors:
  - key: tenant
    limits:
      - tokenBucket: { capacity: 10, refill: 10, every: 1s }
      - slidingWindow: { limit: 1000, window: 1h }
`).get('shop');
    const rule = domain && matchOf(domain, [{ key: 'tenant', value: 'a' }])?.rule;
    expect(rule?.limits.map(({ limit }) => limit)).toEqual([10, 1000]);
  });

  test.each([
    ['a limit without its number', 'rate_limit: { unit: day }', 'requests_per_unit', 'whole number'],
    ['a wildcard in a key', 'key: "a*"', 'key', 'no wildcards'],
    ['an algorithm that is none', 'limits: [{ bucket: {} }]', 'limits[0].bucket', 'unknown field'],
    ['a mistyped field', 'shadow: true', 'shadow', 'unknown field'],
    [
      'half a request',
      'limits: [{ fixedWindow: { limit: 0.5, window: 1s } }]',
      'limits[0].fixedWindow.limit',
      'whole number',
    ],
  ])('%s is refused with its line and what to do', (_, line, path, words) => {
    const key = line.startsWith('key') ? '' : '\n    key: a';
    const text = `domain: shop\ndescriptors:\n  - ${line}${key}\n`;
    const loaded = loadDomains([{ file: 'shop.yaml', text }], { mode: 'strict' });
    const problems = 'problems' in loaded ? loaded.problems : [];
    expect(problems[0]).toMatchObject({ file: 'shop.yaml', problem: { line: 3 } });
    expect(problems[0]?.problem.path).toContain(path);
    expect(problems[0]?.problem.message).toContain(words);
  });
});
