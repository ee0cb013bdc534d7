import { expect, test } from 'vitest';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { formatProblem } from '../../../packages/server/src/config/problem.js';
import { loadDomains } from '../../../packages/server/src/envoy/load.js';

const SECRET = 'operate-token-0123456789';

function linesOf(text: string): string {
  const loaded = loadConfig(text, {});
  const problems = 'problems' in loaded ? loaded.problems : [];
  return problems.map((problem) => formatProblem('c.yaml', problem)).join('\n');
}

test.each([
  ['a token in place of its fields', `admin: { listen: 1, tokens: ["${SECRET}"] }`],
  ['a token in place of the list', `admin: { listen: 1, tokens: ${SECRET} }`],
  ['a token as a name', `admin: { listen: 1, tokens: [{ ${SECRET}: operate }] }`],
  ['a token with a blank as the name of its holder', `admin: { listen: 1, tokens: [{ name: "${SECRET} x" }] }`],
  ['a token with a blank', `api: { listen: 1, tokens: "${SECRET} x" }`],
  ['a list in a list', `api: { listen: 1, tokens: [["${SECRET}"]] }`],
  ['a token in place of the section', `api: { listen: 1, store: { tokens: { a: ${SECRET} } } }`],
  ['an address of a webhook', `alerts: { sinks: [{ slack: "https://hooks.example.com/${SECRET}" }] }`],
  ['an address in place of a sink', `alerts: { sinks: "https://hooks.example.com/${SECRET}" }`],
  ['a login at the store', `store: "rediss2://u:${SECRET}@h"`],
  ['a login at the Sentinels', `store: { url: memory, sentinel: { password: ["${SECRET}"] } }`],
  ['a login at an upstream', `gateway: { listen: 1, routes: [{ path: /, upstream: "http://u:${SECRET}@h" }] }`],
  ['a key in place of the name of its file', `api: { listen: 1, tls: { cert: a, key: "-----BEGIN\\n${SECRET}" } }`],
  ['a file of one token', SECRET],
  ['a file of tokens', `${SECRET}\n${SECRET}\n`],
  ['a token that is an alias by chance', `*${SECRET}`],
  ['a token that no YAML can be', `"${SECRET}" ${SECRET}`],
])('no message shows %s', (_, text) => {
  const lines = linesOf(text);
  expect(lines).toMatch(/^c\.yaml:\d+:\d+: /);
  expect(lines).not.toContain(SECRET);
  const loaded = loadDomains([{ file: 'd.yaml', text }], { mode: 'strict' });
  const whole = 'problems' in loaded ? loaded.problems.filter(({ problem }) => problem.path === '') : [];
  expect(whole.map(({ problem }) => problem.message).join()).not.toContain(SECRET);
});

test('other values are shown, but neither at length nor with what steers a terminal', () => {
  expect(linesOf('timeout: soon')).toContain('got "soon"');
  expect(linesOf(`timeout: "${'x'.repeat(5000)}"`).length).toBeLessThan(400);
  const steering = linesOf('timeout: "\\x9b\\u202e\\u2028\\u001b"\n"bad\\x9b": 1\n');
  expect(steering).not.toMatch(/[^\P{C}\n]|[\u2028\u2029]/u);
  expect(steering).toContain('\\u009b\\u202e\\u2028');
  expect(linesOf('\0'.repeat(5000)).length).toBeLessThan(400);
});
