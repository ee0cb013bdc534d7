import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { schemaText } from '../../packages/server/src/cli/schema.js';
import { loadConfig } from '../../packages/server/src/config/load.js';
import { formatProblem, type Problem } from '../../packages/server/src/config/problem.js';
import { fieldTable } from '../../packages/server/src/config/table.js';

const root = join(import.meta.dirname, '../..');

function problemsOf(text: string, environment: Readonly<Record<string, string>> = {}): readonly Problem[] {
  const loaded = loadConfig(text, environment);
  return 'problems' in loaded ? loaded.problems : [];
}

/** A good file whose lines can be replaced: line 1 is the first. */
const GOOD = `store: memory
timeout: 50ms
policies:
  - name: first
    match: { path: /api/*, methods: [GET], hosts: [api.example.com] }
    key: ip
    limits:
      - tokenBucket: { capacity: 10, refill: 1, every: 1s }
  - name: second
    limits: { fixedWindow: { limit: 5, window: 1m } }
gateway:
  listen: 127.0.0.1:8080
  routes:
    - { path: /api, upstream: echo }
    - { path: /, upstream: "http://127.0.0.1:3000" }
api: { listen: 127.0.0.1:8081 }
`;

function withLine(number: number, text: string): string {
  const lines = GOOD.split('\n');
  lines[number - 1] = text;
  return lines.join('\n');
}

interface Row {
  readonly what: string;
  readonly text: string;
  readonly line: number;
  readonly path: string;
  readonly message: RegExp;
  readonly hint?: RegExp;
}

const rows: readonly Row[] = [
  {
    what: 'an unknown field',
    text: withLine(2, 'timeut: 50ms'),
    line: 2,
    path: 'timeut',
    message: /unknown field/,
    hint: /"timeout"/,
  },
  {
    what: 'a section that does not exist yet',
    text: `${GOOD}dashboard: {}\n`,
    line: 17,
    path: 'dashboard',
    message: /unknown field/,
    hint: /known here: .*gateway/,
  },
  {
    what: 'an unknown field deep down',
    text: withLine(8, '      - tokenBucket: { capacity: 10, refil: 1, refill: 1, every: 1s }'),
    line: 8,
    path: 'policies[0].limits[0].tokenBucket.refil',
    message: /unknown field/,
    hint: /"refill"/,
  },
  {
    what: 'an unknown algorithm',
    text: withLine(8, '      - tokenBuket: {}'),
    line: 8,
    path: 'policies[0].limits[0].tokenBuket',
    message: /unknown field/,
    hint: /"tokenBucket"/,
  },
  {
    what: 'two algorithms in one limit',
    text: withLine(
      10,
      '    limits: { fixedWindow: { limit: 5, window: 1m }, slidingWindow: { limit: 5, window: 1m } }',
    ),
    line: 10,
    path: 'policies[1].limits',
    message: /one algorithm, got .*fixedWindow and .*slidingWindow|one algorithm/,
  },
  {
    what: 'a missing setting',
    text: withLine(10, '    limits: { fixedWindow: { limit: 5 } }'),
    line: 10,
    path: 'policies[1].limits.fixedWindow.window',
    message: /missing/,
    hint: /length of the window/i,
  },
  {
    what: 'a missing name',
    text: withLine(9, '  - shadow: true'),
    line: 9,
    path: 'policies[1].name',
    message: /missing/,
  },
  {
    what: 'a negative capacity',
    text: withLine(8, '      - tokenBucket: { capacity: -1, refill: 1, every: 1s }'),
    line: 8,
    path: 'policies[0].limits[0].tokenBucket.capacity',
    message: /from 0, got -1/,
  },
  {
    what: 'a fraction',
    text: withLine(8, '      - tokenBucket: { capacity: 1.7, refill: 1, every: 1s }'),
    line: 8,
    path: 'policies[0].limits[0].tokenBucket.capacity',
    message: /whole number, got 1.7/,
  },
  {
    what: 'a refill of zero',
    text: withLine(8, '      - tokenBucket: { capacity: 1, refill: 0, every: 1s }'),
    line: 8,
    path: 'policies[0].limits[0].tokenBucket.refill',
    message: /from 1, got 0/,
  },
  {
    what: 'a window of zero',
    text: withLine(10, '    limits: { fixedWindow: { limit: 5, window: 0s } }'),
    line: 10,
    path: 'policies[1].limits.fixedWindow.window',
    message: /got "0s"/,
  },
  {
    what: 'settings that do not fit together',
    text: withLine(8, '      - tokenBucket: { capacity: 1000000000, refill: 1, every: 1w }'),
    line: 8,
    path: 'policies[0].limits[0].tokenBucket.capacity',
    message: /10 years/,
  },
  {
    what: 'a bad duration',
    text: withLine(2, 'timeout: 50 ms'),
    line: 2,
    path: 'timeout',
    message: /expected a duration such as .*got "50 ms"/,
  },
  {
    what: 'a negative duration',
    text: withLine(2, 'timeout: -1'),
    line: 2,
    path: 'timeout',
    message: /expected a duration/,
  },
  {
    what: 'a time limit out of range',
    text: withLine(2, 'timeout: 2h'),
    line: 2,
    path: 'timeout',
    message: /expected 1ms to 1m, got "2h"/,
  },
  {
    what: 'a mistyped store',
    text: withLine(1, 'store: memroy'),
    line: 1,
    path: 'store',
    message: /expected memory, redis:/,
  },
  {
    what: 'a store of another kind',
    text: withLine(1, 'store: http://127.0.0.1'),
    line: 1,
    path: 'store',
    message: /expected memory, redis:/,
  },
  {
    what: 'a mistyped failure mode',
    text: withLine(2, 'onStoreFailure: lokal'),
    line: 2,
    path: 'onStoreFailure',
    message: /local or open or closed/,
    hint: /"local"/,
  },
  {
    what: 'two policies of one name',
    text: withLine(9, '  - name: first'),
    line: 9,
    path: 'policies[1].name',
    message: /used twice \(first on line 4\)/,
  },
  {
    what: 'a name that no header can carry',
    text: withLine(9, '  - name: "a b"'),
    line: 9,
    path: 'policies[1].name',
    message: /1 to 64 characters/,
  },
  {
    what: 'an unknown key source',
    text: withLine(6, '    key: ipp'),
    line: 6,
    path: 'policies[0].key',
    message: /ipp/,
  },
  {
    what: 'an unknown key source in a list',
    text: withLine(6, '    key: [ip, heder:x]'),
    line: 6,
    path: 'policies[0].key[1]',
    message: /heder/,
  },
  {
    what: 'a path parameter that the path does not have',
    text: withLine(6, '    key: path:id'),
    line: 6,
    path: 'policies[0].key',
    message: /path:id|:id/,
  },
  {
    what: 'a lower-case method',
    text: withLine(5, '    match: { methods: [get] }'),
    line: 5,
    path: 'policies[0].match.methods[0]',
    message: /upper-case/,
  },
  {
    what: 'no methods at all',
    text: withLine(5, '    match: { methods: [] }'),
    line: 5,
    path: 'policies[0].match.methods',
    message: /at least 1 entry/,
  },
  {
    what: 'a host with a port',
    text: withLine(5, '    match: { hosts: "a.example:8080" }'),
    line: 5,
    path: 'policies[0].match.hosts',
    message: /no request can match/,
    hint: /remove the port/,
  },
  {
    what: 'a path that normalisation removes',
    text: withLine(5, '    match: { path: /a/../b }'),
    line: 5,
    path: 'policies[0].match.path',
    message: /no request can match/,
  },
  {
    what: 'a path with a query',
    text: withLine(5, '    match: { path: "/a?x=1" }'),
    line: 5,
    path: 'policies[0].match.path',
    message: /no request can match/,
  },
  {
    what: 'a path that is no path',
    text: withLine(5, '    match: { path: api/* }'),
    line: 5,
    path: 'policies[0].match.path',
    message: /starts with "\/"/,
  },
  {
    what: 'a star in the middle',
    text: withLine(5, '    match: { path: /a/*/b }'),
    line: 5,
    path: 'policies[0].match.path',
    message: /\*/,
  },
  {
    what: 'a proxy that is no address',
    text: withLine(2, 'trustedProxies: [10.0.0.0/8, 10.0.0/8]'),
    line: 2,
    path: 'trustedProxies[1]',
    message: /10\.0\.0\/8/,
  },
  {
    what: 'a prefix out of range',
    text: withLine(2, 'ipv6Prefix: 129'),
    line: 2,
    path: 'ipv6Prefix',
    message: /up to 128/,
  },
  {
    what: 'an unknown header form',
    text: withLine(2, 'headers: draft-12'),
    line: 2,
    path: 'headers',
    message: /draft-11/,
    hint: /"draft-11"/,
  },
  {
    what: 'an address without a port',
    text: withLine(12, '  listen: 127.0.0.1'),
    line: 12,
    path: 'gateway.listen',
    message: /host:port/,
  },
  {
    what: 'a port out of range',
    text: withLine(12, '  listen: 127.0.0.1:70000'),
    line: 12,
    path: 'gateway.listen',
    message: /host:port/,
  },
  {
    what: 'one address for two servers',
    text: withLine(16, 'api: { listen: 127.0.0.1:8080 }'),
    line: 16,
    path: 'api.listen',
    message: /listens there already/,
  },
  {
    what: 'an upstream with a path',
    text: withLine(15, '    - { path: /, upstream: "http://127.0.0.1:3000/x" }'),
    line: 15,
    path: 'gateway.routes[1].upstream',
    message: /http:\/\/host:port/,
  },
  {
    what: 'a route that is never reached',
    text: withLine(14, '    - { path: /*, upstream: echo }'),
    line: 15,
    path: 'gateway.routes[1]',
    message: /never reached: the route on line 14/,
  },
  {
    what: 'no routes',
    text: 'gateway:\n  listen: 127.0.0.1:1\n  routes: []\n',
    line: 3,
    path: 'gateway.routes',
    message: /at least 1 entry/,
  },
  { what: 'nothing to serve', text: 'store: memory\n', line: 1, path: '', message: /nothing to serve/ },
  { what: 'an empty file', text: '', line: 1, path: '', message: /empty/ },
  { what: 'a list instead of fields', text: '- a\n', line: 1, path: '', message: /expected fields, got a list/ },
  { what: 'a key given twice', text: withLine(2, 'store: memory'), line: 2, path: '', message: /given twice/ },
  {
    what: 'a tab as indentation',
    text: 'api:\n\tlisten: 127.0.0.1:1\n',
    line: 2,
    path: '',
    message: /tab/,
    hint: /spaces/,
  },
  { what: 'a second document', text: `${GOOD}---\nstore: memory\n`, line: 17, path: '', message: /second document/ },
  { what: 'broken YAML', text: withLine(2, 'timeout: [50ms'), line: 3, path: '', message: /./ },
  { what: 'an alias without anchor', text: withLine(2, 'timeout: *fast'), line: 2, path: '', message: /alias/i },
  { what: 'an alias bomb', text: bomb(), line: 7, path: '', message: /more than 200000 values/ },
  {
    what: 'a variable that is not set',
    text: withLine(2, `timeout: "\${TIMEOUT}"`),
    line: 2,
    path: '',
    message: /TIMEOUT is not set/,
    hint: /:-/,
  },
  {
    what: 'a variable without a name',
    text: withLine(2, `timeout: "\${}"`),
    line: 2,
    path: '',
    message: /names no variable/,
  },
];

function bomb(): string {
  const levels = Array.from(
    { length: 9 },
    (_, i) => `l${i + 1}: &l${i + 1} [${Array.from({ length: 9 }, () => `*l${i}`).join(',')}]`,
  );
  return `l0: &l0 [x]\n${levels.join('\n')}\n`;
}

describe('a configuration file is refused, with the line and what was expected, for', () => {
  it.each(rows)('$what', ({ text, line, path, message, hint }) => {
    const problems = problemsOf(text);
    expect(problems, JSON.stringify(problems)).toHaveLength(1);
    const [problem] = problems;
    expect({ line: problem?.line, path: problem?.path }).toEqual({ line, path });
    expect(problem?.message).toMatch(message);
    if (hint !== undefined) expect(problem?.hint).toMatch(hint);
  });
});

describe('a configuration file', () => {
  it('that is good has no problems', () => {
    expect(problemsOf(GOOD)).toEqual([]);
  });

  it('shows all its problems at once, in order', () => {
    const text = withLine(2, 'timeout: never').replace('capacity: 10', 'capacity: ten').replace('8081', 'http');
    expect(problemsOf(text).map(({ line }) => line)).toEqual([2, 8, 16]);
  });

  it('may be JSON, indented as one likes', () => {
    const file = { gateway: { listen: '127.0.0.1:0', routes: [{ path: '/', upstream: 'echo' }] } };
    for (const indent of [undefined, 2, '\t']) expect(problemsOf(JSON.stringify(file, undefined, indent))).toEqual([]);
    expect(problemsOf('{\n  "gateway": {\n    "lisen": 1\n  }\n}').map(({ line }) => line)).toContain(3);
  });

  it('takes values from the environment, with defaults and escapes', () => {
    const text = withLine(12, `  listen: \${HOST:-127.0.0.1}:\${PORT:-8080}`)
      .replace(
        '{ fixedWindow: { limit: 5, window: 1m } }',
        `\n      fixedWindow:\n        limit: \${LIMIT}\n        window: 1m`,
      )
      .replace('name: first', () => 'name: "a$$b"');
    expect(problemsOf(text, { LIMIT: '7' }).map(({ message }) => message)).toEqual([
      expect.stringContaining('got "a$b"'),
    ]);
    const loaded = loadConfig(text.replace('a$$b', 'a'), { LIMIT: '7', PORT: '9000' });
    expect(loaded).toMatchObject({ config: { gateway: { listen: { host: '127.0.0.1', port: 9000 } } } });
    expect(loaded).toMatchObject({ config: { gate: { policies: [{}, { limits: [{ limit: 7 }] }] } } });
  });

  it('cannot grow new fields through a variable', () => {
    const text = withLine(1, `store: \${STORE}`);
    expect(problemsOf(text, { STORE: 'memory\nadmin: {}' })).toMatchObject([{ line: 1, path: 'store' }]);
  });

  it('never shows the password of a store', () => {
    const text = withLine(1, 'store: redis://user:secret@host:port:x');
    expect(
      problemsOf(text)
        .map((problem) => formatProblem('f', problem))
        .join(),
    ).not.toContain('secret');
    expect(problemsOf(text)).toHaveLength(1);
  });

  it('is good in each example', () => {
    for (const name of ['quickstart', 'cluster']) {
      expect(problemsOf(readFileSync(join(root, 'examples', name, 'comporta.yaml'), 'utf8')), name).toEqual([]);
    }
  });
});

describe('made from the schema and current:', () => {
  it('the JSON Schema', () => {
    expect(JSON.parse(readFileSync(join(root, 'packages/server/schema/comporta.schema.json'), 'utf8'))).toEqual(
      JSON.parse(schemaText()),
    );
  });

  it('the table of fields in docs/config.md', () => {
    // The formatter pads the columns of tables.
    const bare = (text: string): string => text.replace(/ +/g, ' ').replace(/-{2,}/g, '--');
    const docs = bare(readFileSync(join(root, 'docs/config.md'), 'utf8'));
    for (const row of fieldTable().trim().split('\n').slice(2)) expect(docs).toContain(bare(row));
  });

  it('every field has a description', () => {
    expect(fieldTable()).not.toContain('undefined');
    expect(fieldTable()).not.toMatch(/\| *\|\n/);
  });
});
