import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { parse } from 'yaml';
import { startApp } from '../../packages/server/src/app.js';
import { startServer } from '../support/servers.js';
import { root } from './cli-support.js';
import { configIn, connect } from './envoy-support.js';
import { onCleanup, recordLog, startUpstream, until } from './gateway-support.js';

/** Names of metrics and their labels, as one scrape shows them. */
export type Scrape = ReadonlyMap<string, ReadonlySet<string>>;

/** Reads the text of Prometheus; throws at a line that is none. */
export function parseScrape(body: string): Scrape {
  const names = new Map<string, Set<string>>();
  for (const line of body.split('\n').filter((text) => text !== '' && !text.startsWith('#'))) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)$/.exec(line);
    if (match === null) throw new Error(`no sample: ${line}`);
    const [, name = '', labels = '', value = ''] = match;
    if (!/^([+-]?Inf|NaN)$/.test(value) && Number.isNaN(Number(value))) throw new Error(`no number: ${line}`);
    const known = names.get(name) ?? new Set<string>();
    for (const [, label = ''] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.add(label);
    names.set(name, known);
  }
  return names;
}

export async function scrape(port: number | undefined, accept = 'text/plain'): Promise<readonly [string, string]> {
  const { statusCode, headers, body } = await request(`http://127.0.0.1:${port}/metrics`, { headers: { accept } });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${statusCode} ${text}`);
  return [String(headers['content-type']), text];
}

const DOMAIN = `domain: shop
descriptors:
  - { key: path, value: /buy, rate_limit: { unit: hour, requests_per_unit: 1 } }
`;
const every = (limit: number) => ({ fixedWindow: { limit, window: '1d', align: 'first-hit' } });

/** A server with every door on a Redis that dies, and traffic of every kind; resolves to its API's port. */
export async function busyServer(folder: string): Promise<number> {
  const redis = await startServer();
  onCleanup(() => redis.stop());
  const upstream = await startUpstream();
  const routes = [
    { path: '/dead', upstream: 'http://127.0.0.1:1' },
    { path: '/', upstream: upstream.origin },
  ];
  const policies = [
    { name: 'per-client', key: 'ip', limits: every(3) },
    { name: 'tried-out', key: 'ip', limits: every(1), shadow: true },
    { name: 'open', key: 'ip', limits: every(1000), onStoreFailure: 'open' },
    { name: 'leased', key: 'ip', limits: every(1000), lease: { maxOvershoot: '10%', lasts: '1s' }, instances: 1 },
  ];
  const rest = {
    store: redis.url,
    policies,
    gateway: { listen: '127.0.0.1:0', routes },
    api: { listen: '127.0.0.1:0' },
  };
  const app = await startApp(configIn(folder, [DOMAIN], {}, rest), recordLog().log);
  onCleanup(() => app.stop());
  const get = async (path: string): Promise<void> => {
    const { body } = await request(`http://127.0.0.1:${app.gateway?.port}${path}`);
    await body.dump();
  };
  const ask = connect(`127.0.0.1:${app.envoy?.port}`);
  for (const path of ['/', '/dead', '/', '/']) await get(path);
  const descriptors = [{ entries: [{ key: 'path', value: '/buy' }] }];
  for (let i = 0; i < 2; i++) await ask({ domain: 'shop', descriptors });
  await redis.stop();
  await until('an open breaker', async () => {
    await get('/');
    return (await scrape(app.api?.port))[1].includes('comporta_breaker_state{node="redis",state="open"} 1');
  });
  return app.api?.port ?? 0;
}

/** An expression of PromQL, and where it stands. */
export interface Expression {
  readonly where: string;
  readonly text: string;
}

interface Board {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export const readText = (path: string): string => readFileSync(join(root, path), 'utf8');
export const board = JSON.parse(readText('deploy/grafana/comporta.json')) as Board & Record<string, unknown>;
export const alerts = (
  parse(readText('deploy/prometheus/alerts.yaml')) as { readonly groups: readonly { readonly rules: AlertRule[] }[] }
).groups.flatMap(({ rules }) => rules);

/** Of the dashboard, its variables, and the alerts. */
export function allExpressions(): readonly Expression[] {
  const panels = board.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: `panel ${title}`, text: expr })),
  );
  const variables = board.templating.list.flatMap(({ name, definition }) => {
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(definition ?? '') ?? [];
    return metric === undefined ? [] : [{ where: `variable ${name}`, text: `sum by (${label}) (${metric})` }];
  });
  return [...panels, ...variables, ...alerts.map(({ alert, expr }) => ({ where: alert, text: expr }))];
}

/** Words of PromQL that are used; any other word is a metric or a label. */
const WORDS = new Set('sum max by rate increase histogram_quantile unless and or on offset'.split(' '));
/** Added by Prometheus itself. */
const OF_TARGET = ['instance', 'job'];

/** What an expression names that a scrape does not have. */
export function missingIn({ where, text }: Expression, known: Scrape): readonly string[] {
  const bare = text
    .replace(/"(?:[^"\\]|\\.)*"/g, '""')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/offset \w+/g, '');
  const selectors = [...bare.matchAll(/([a-zA-Z_]\w*)\{([^}]*)\}/g)];
  const grouped = [...bare.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  const rest = bare.replace(/\{[^}]*\}/g, '').replace(/\bby \([^)]*\)/g, '');
  const metrics = [...new Set(rest.match(/[a-zA-Z_]\w*/g) ?? [])].filter((word) => !WORDS.has(word));
  const unknown = metrics.filter((name) => !known.has(name)).map((name) => `${where}: metric ${name}`);
  const matched = selectors.flatMap(([, name = '', matchers = '']) =>
    [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => ({ label, of: [name] })),
  );
  const labels = [...matched, ...grouped.map((label) => ({ label, of: metrics }))];
  const strangers = labels
    .filter(({ label, of }) => !OF_TARGET.includes(label) && !of.some((name) => known.get(name)?.has(label) === true))
    .map(({ label, of }) => `${where}: label ${label} of ${of.join(', ')}`);
  return [...unknown, ...strangers];
}
