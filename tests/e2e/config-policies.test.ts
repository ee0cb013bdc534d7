import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../packages/server/src/config/load.js';
import type { Problem } from '../../packages/server/src/config/problem.js';

/** A file whose policy has further lines; those begin on line 4. */
const withPolicy = (lines: readonly string[]): string =>
  `policies:
  - name: p
    key: header:x-key
${lines.map((line) => `    ${line}\n`).join('')}    limits: { fixedWindow: { limit: 5, window: 1m } }
gateway: { listen: 127.0.0.1:8080, routes: [{ path: /, upstream: echo }] }
`;

function problemsOf(text: string): readonly Problem[] {
  const loaded = loadConfig(text, {});
  return 'problems' in loaded ? loaded.problems : [];
}

describe('a policy takes', () => {
  it.each([
    ['what is counted', ['count: failures']],
    ['plans by a source', ['plans: { pro: { fixedWindow: { limit: 9, window: 1m } } }', 'plan: header:x-plan']],
    [
      'plans by a table',
      ['plans: { pro: [{ fixedWindow: { limit: 9, window: 1m } }] }', 'plan: { by: "jwt:sub", of: { a: pro } }'],
    ],
    ['blocks by hand', ['blocks: true']],
    ['blocks by themselves', ['blocks: { after: 5, within: 1m, lasts: 1h }']],
    ['overrides and a revision', ['overrides: true', 'revision: 7']],
    ['one address', ['deny: 203.0.113.7']],
    ['addresses', ['deny: [203.0.113.0/24, "2001:db8::/32"]', 'allow: [loopback]']],
    ['values of its key', ['deny: { subjects: [thief], addresses: 203.0.113.7 }']],
    ['some per cent in the shadow', ['shadow: { percent: 12.5 }']],
  ])('%s', (_, lines) => {
    expect(problemsOf(withPolicy(lines))).toEqual([]);
  });

  it.each<[string, readonly string[], Partial<Problem>]>([
    [
      'a word that is near',
      ['count: failure'],
      { line: 4, path: 'policies[0].count', hint: 'did you mean "failures"?' },
    ],
    [
      'plans without plan',
      ['plans: { pro: { fixedWindow: { limit: 9, window: 1m } } }'],
      { path: 'policies[0].plan', message: 'missing' },
    ],
    [
      'a plan that there is not',
      ['plans: { pro: { fixedWindow: { limit: 9, window: 1m } } }', 'plan: { by: ip, of: { a: gold } }'],
      { line: 5, path: 'policies[0].plan.of', message: '"a": there is no plan "gold" among pro' },
    ],
    [
      'a source of plans that there is not',
      ['plans: { pro: { fixedWindow: { limit: 9, window: 1m } } }', 'plan: body:x'],
      {
        line: 5,
        path: 'policies[0].plan',
        message: 'expected one of ip, header:NAME, cookie:NAME, jwt:CLAIM, query:NAME, path:PARAM, got "body:x"',
      },
    ],
    [
      'a mistyped limit of a plan',
      ['plans:', '  pro: { fixedWindow: { limt: 9, window: 1m } }', 'plan: header:x'],
      { line: 5, path: 'policies[0].plans.pro.fixedWindow.limt', hint: 'did you mean "limit"?' },
    ],
    [
      'a mistyped field of blocks',
      ['blocks: { after: 5, within: 1m, last: 1h }'],
      { line: 4, message: 'unknown field' },
    ],
    ['blocks: false', ['blocks: false'], { line: 4, path: 'policies[0].blocks', message: 'expected true, got false' }],
    [
      'a time that is none',
      ['blocks: { after: 5, within: soon, lasts: 1h }'],
      { line: 4, path: 'policies[0].blocks.within' },
    ],
    ['overrides: yes', ['overrides: "yes"'], { line: 4, path: 'policies[0].overrides' }],
    ['a revision of half', ['revision: 0.5'], { line: 4, path: 'policies[0].revision' }],
    [
      'a value where addresses stand',
      ['deny:', '  - 203.0.113.7', '  - thief'],
      {
        line: 6,
        path: 'policies[0].deny[1]',
        message: 'expected an address or a CIDR such as 203.0.113.0/24, got "thief"',
        hint: 'values of the key go under subjects',
      },
    ],
    [
      'a mistyped CIDR',
      ['allow: [10.1.2.3/8]'],
      { line: 4, path: 'policies[0].allow[0]', hint: 'did you mean "10.0.0.0/8"?' },
    ],
    [
      'a prefix that is too long',
      ['allow: 10.1.2.3/33'],
      { line: 4, path: 'policies[0].allow', message: 'expected a prefix of 1 to 32 bits, got "10.1.2.3/33"' },
    ],
    ['a mistyped field of a list', ['deny: { adresses: [] }'], { line: 4, message: 'unknown field' }],
    ['too much shadow', ['shadow: { percent: 101 }'], { line: 4, path: 'policies[0].shadow.percent' }],
    [
      'a shadow of no kind',
      ['shadow: most'],
      { line: 4, path: 'policies[0].shadow', message: 'expected true or false, got "most"' },
    ],
  ])('but not %s, and says where', (_, lines, problem) => {
    expect(problemsOf(withPolicy(lines))).toContainEqual(expect.objectContaining(problem));
  });
});

describe('the lists of the whole file', () => {
  it('hold addresses only', () => {
    expect(problemsOf(`deny: [203.0.113.0/24]\n${withPolicy([])}`)).toEqual([]);
    expect(problemsOf(`deny:\n  - thief\n${withPolicy([])}`)).toMatchObject([{ line: 2, path: 'deny[0]' }]);
  });

  it('need a policy to be asked at all', () => {
    const gateway = 'gateway: { listen: 127.0.0.1:8080, routes: [{ path: /, upstream: echo }] }\n';
    expect(problemsOf(`deny: [203.0.113.7]\n${gateway}`)).toMatchObject([{ line: 1, path: 'deny' }]);
    expect(problemsOf(`allow: [203.0.113.7]\n${gateway}`)).toMatchObject([{ line: 1, path: 'allow' }]);
  });

  it('may be long: fifty thousand entries load in seconds', () => {
    const entries = Array.from({ length: 50_000 }, (_, i) => `10.${i >> 8}.${i & 255}.1`);
    expect(problemsOf(`deny: [${entries.join()}]\n${withPolicy([])}`)).toEqual([]);
  });
});

describe('policies together', () => {
  const file = (policies: string): string =>
    `policies:\n${policies}gateway: { listen: 127.0.0.1:8080, routes: [{ path: /, upstream: echo }] }\n`;

  it('may count everybody as one', () => {
    expect(
      problemsOf(file('  - { name: p, key: global, limits: { fixedWindow: { limit: 5, window: 1m } } }\n')),
    ).toEqual([]);
  });

  it('may not bear one name in the fields', () => {
    const limit = '{ fixedWindow: { limit: 5, window: 1m } }';
    const two = `[{ id: b, fixedWindow: { limit: 5, window: 1m } }, { id: c, fixedWindow: { limit: 9, window: 1h } }]`;
    const problems = problemsOf(file(`  - { name: a, limits: ${two} }\n  - { name: a.b, limits: ${limit} }\n`));
    expect(problems).toMatchObject([{ line: 3, path: 'policies[1].name', hint: 'rename one' }]);
  });
});
