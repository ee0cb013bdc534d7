import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../packages/server/src/config/load.js';
import { formatProblem } from '../../../packages/server/src/config/problem.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const GATEWAY = 'gateway: { listen: 127.0.0.1:0, routes: [{ path: /, upstream: echo }] }';

function load(alerts: string, environment: Readonly<Record<string, string>> = {}): ReturnType<typeof loadConfig> {
  return loadConfig(`${GATEWAY}\n${alerts}`, environment);
}

function problemsOf(alerts: string): readonly string[] {
  const loaded = load(alerts);
  return 'problems' in loaded ? loaded.problems.map((problem) => formatProblem('f', problem)) : [];
}

const sink = (text: string, more = ''): string => `alerts:\n${more}  sinks:\n    - ${text}\n`;

describe('the alerts section', () => {
  it('may be left out', () => {
    expect(load('onStoreFailure: open')).toMatchObject({ config: { alerts: undefined } });
  });

  it('takes every kind of sink, with secrets from the environment', () => {
    const text = [
      'alerts:',
      '  cooldown: 1m',
      '  sinks:',
      `    - webhook: { url: "https://a.example/b", secret: "$\{SECRET}" }`,
      `    - slack: { url: "$\{SLACK}" }`,
      `    - pagerduty: { routingKey: "$\{KEY}" }`,
      '    - alertmanager: { url: "https://am.example" }',
    ].join('\n');
    const slack = 'https://hooks.slack.com/services/T/B/x';
    expect(load(text, { SECRET, SLACK: slack, KEY: 'k' })).toMatchObject({
      config: {
        alerts: {
          cooldown: 60_000,
          allowInsecure: false,
          sinks: [
            { kind: 'webhook', url: 'https://a.example/b', secret: SECRET },
            { kind: 'slack', url: slack },
            { kind: 'pagerduty', routingKey: 'k', url: 'https://events.pagerduty.com/v2/enqueue' },
            { kind: 'alertmanager', url: 'https://am.example' },
          ],
        },
      },
    });
  });

  it('takes unencrypted and private addresses only when told so', () => {
    const text = 'slack: { url: "http://127.0.0.1:1/x" }';
    expect(problemsOf(sink(text, '  allowInsecure: true\n'))).toEqual([]);
    expect(problemsOf(sink(text))).toEqual([expect.stringMatching(/^f:4:\d+: .*slack\.url: not encrypted.*\n.*hint/)]);
  });

  it.each([
    [
      'a bad secret',
      sink('webhook: { url: "https://a.b", secret: hunter2 }'),
      /^f:4:\d+: .*\.secret: .*whsec_.*\n.*hint/,
    ],
    ['a short secret', sink('webhook: { url: "https://a.b", secret: whsec_hunter2a }'), /\.secret: expected whsec_/],
    ['a missing secret', sink('webhook: { url: "https://a.b" }'), /\.secret: missing\n.*hint/],
    ['an unknown sink', sink('slak: { url: "https://a.b" }'), /^f:4:7: .*slak: unknown field\n.*"slack"/],
    ['no sink in an entry', sink('{}'), /sinks\[0\]: expected one of webhook, slack, pagerduty, alertmanager/],
    ['two sinks in one', sink('{ slack: { url: "https://a.b" }, alertmanager: { url: "https://a.b" } }'), /one sink/],
    ['a private address', sink('slack: { url: "https://10.0.0.1/hunter2" }'), /private.*\n.*allowInsecure/],
    ['a disguised one', sink('slack: { url: "https://0x7f000001/hunter2" }'), /private.*\n.*allowInsecure/],
    ['this machine', sink('alertmanager: { url: "https://localhost:9093" }'), /names this machine\n.*hint/],
    ['no address', sink('slack: { url: hunter2 }'), /slack\.url: expected an address/],
    ['a number for a key', sink('pagerduty: { routingKey: 123456 }'), /routingKey: expected text/],
    ['no sinks', 'alerts: { sinks: [] }\n', /^f:2:\d+: alerts\.sinks: expected at least 1 entry/],
    ['no list of sinks', 'alerts: {}\n', /alerts\.sinks: missing\n.*hint/],
    ['a bad cool-down', sink('slack: { url: "https://a.b" }', '  cooldown: 2d\n'), /^f:3:\d+: alerts\.cooldown: /],
  ])('refuses %s, with its place and without its value', (_, text, message) => {
    const problems = problemsOf(text);
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(problems.join()).not.toMatch(/hunter2|123456/);
  });
});
