import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { makeFolder } from './cli-support.js';
import { configOf, gatewayFile, policyOf, startGateway, startUpstream } from './gateway-support.js';
import {
  alerts,
  allExpressions,
  board,
  busyServer,
  missingIn,
  parseScrape,
  readText,
  scrape,
} from './metrics-support.js';

const api = { listen: '127.0.0.1:0' };

describe('the metrics of a server', () => {
  it('have every name and label that the dashboard and the alerts use, and are all in the docs', async () => {
    const port = await busyServer(makeFolder());
    const [type, body] = await scrape(port);
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    // Envoy's domains decide as policies do: by the limits of their rules.
    expect(body).toMatch(/outcome="denied",policy="rls.shop",source="redis"} 1\n/);
    const known = parseScrape(body);
    const expressions = allExpressions();
    expect(expressions.length).toBeGreaterThan(30);
    expect(expressions.flatMap((expression) => missingIn(expression, known))).toEqual([]);
    // Controls: a name and a label that nobody has.
    expect(missingIn({ where: 'x', text: 'rate(comporta_nothing_total[5m])' }, known)).toHaveLength(1);
    expect(
      missingIn({ where: 'x', text: 'sum by (subject) (comporta_decisions_total{tenant="a"})' }, known),
    ).toHaveLength(2);

    expect(tableOf(readText('docs/metrics.md'))).toEqual(familiesOf(body, known));
    const [openType, open] = await scrape(port, 'application/openmetrics-text; version=1.0.0');
    expect(openType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(open.endsWith('# EOF\n')).toBe(true);
  });

  it('tell what was decided, and what passed through the gateway', async () => {
    const upstream = await startUpstream();
    const routes = [{ path: '/shop', upstream: upstream.origin }];
    const gateway = await startGateway(gatewayFile('echo', { routes }, { api, policies: [policyOf(5)] }));
    for (let i = 0; i < 6; i++) await (await request(`${gateway.origin}/shop/item-${i}?token=abc`)).body.dump();
    const [, body] = await scrape(gateway.app.api?.port);
    const lines = body.split('\n');
    const labels = 'policy="per-client",source="memory"';
    expect(lines).toContain(`comporta_decisions_total{algorithm="fixedWindow",outcome="allowed",${labels}} 5`);
    expect(lines).toContain(`comporta_decisions_total{algorithm="fixedWindow",outcome="denied",${labels}} 1`);
    expect(lines).toContain('comporta_near_limit_total{policy="per-client"} 2');
    expect(lines).toContain('comporta_gateway_requests_total{route="/shop",status="2xx"} 5');
    expect(lines).toContain('comporta_gateway_requests_total{route="/shop",status="4xx"} 1');
    expect(lines).toContain(`comporta_gateway_upstream_duration_seconds_count{upstream="${upstream.origin}"} 5`);
    expect(lines).toContain('comporta_reloads_total{result="bad",what="configuration"} 0');
    expect(body).not.toMatch(/item-|token|127\.0\.0\.1(?!:\d+")/);
  });

  it('go on over a reload', async () => {
    const file = (limit: number) => gatewayFile('echo', {}, { api, policies: [policyOf(limit)] });
    const gateway = await startGateway(file(5));
    const get = async () => (await request(gateway.origin)).body.dump();
    await get();
    gateway.app.apply(configOf(file(6)));
    await get();
    const [, body] = await scrape(gateway.app.api?.port);
    expect(body).toContain('outcome="allowed",policy="per-client",source="memory"} 2\n');
  });

  it('ask for a token where the API has one', async () => {
    const token = 'a-token-of-the-scraper';
    const { app } = await startGateway(gatewayFile('echo', {}, { api: { ...api, tokens: token } }));
    const url = `http://127.0.0.1:${app.api?.port}/metrics`;
    const refused = await request(url);
    const { statusCode, body } = await request(url, { headers: { authorization: `Bearer ${token}` } });
    expect([refused.statusCode, statusCode]).toEqual([401, 200]);
    await refused.body.dump();
    await body.dump();
  });
});

describe('the dashboard and the alerts', () => {
  it('have what Grafana and Prometheus want of them', () => {
    expect(board).toMatchObject({
      id: null,
      uid: 'comporta',
      schemaVersion: 39,
      __inputs: [{ name: 'DS_PROMETHEUS' }],
    });
    for (const { alert, labels, annotations } of alerts) {
      expect(alert).toMatch(/^Comporta[A-Z]/);
      expect(labels.severity).toMatch(/^(warning|critical)$/);
      expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url']);
    }
  });

  it('lead to a chapter of the docs for each alert', () => {
    const anchors = [...readText('docs/metrics.md').matchAll(/^#+ (\w+)$/gm)].map(([, title = '']) => title);
    for (const { alert, annotations } of alerts) {
      expect(anchors).toContain(alert);
      expect(annotations.runbook_url).toBe(`docs/metrics.md#${alert.toLowerCase()}`);
    }
  });
});

/** `name type labels` of each row of the docs. */
function tableOf(text: string): readonly string[] {
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*)\|/gm)];
  return rows
    .map(
      ([, name, type, labels = '']) =>
        `${name} ${type} ${[...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label).join(',')}`,
    )
    .sort();
}

/** The same of a scrape. */
function familiesOf(body: string, known: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const types = [...body.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  return types
    .map(([, name = '', type]) => {
      const labels = [...(known.get(name) ?? known.get(`${name}_count`) ?? [])].sort();
      return `${name} ${type} ${labels.join(',')}`;
    })
    .sort();
}
