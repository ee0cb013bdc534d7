import { describe, expect, test } from 'vitest';
import { Registry } from '../../../packages/server/src/metrics/registry.js';
import { metricsText } from '../../../packages/server/src/metrics/text.js';

const OPEN = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5';

function filled(): Registry {
  const registry = new Registry();
  registry.createCounter('app.calls', { unit: '{call}', description: 'Calls.' }).add(2, { 'comporta.policy': 'a' });
  const seconds = { unit: 's', description: 'Time.', advice: { explicitBucketBoundaries: [0.1, 1] } };
  const histogram = registry.createHistogram('app.time', seconds);
  for (const value of [0.1, 0.5, 7]) histogram.record(value);
  registry.createObservableGauge('app.memory', { unit: 'By' }).addCallback(({ observe }) => observe(5));
  return registry;
}

describe('the text', () => {
  test('is that of Prometheus 0.0.4 for who asks for nothing else', () => {
    const { type, body } = metricsText(filled().entries(), undefined);
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(body).toBe(`# HELP app_calls_total Calls.
# TYPE app_calls_total counter
app_calls_total{policy="a"} 2
# HELP app_time_seconds Time.
# TYPE app_time_seconds histogram
app_time_seconds_bucket{le="0.1"} 1
app_time_seconds_bucket{le="1.0"} 2
app_time_seconds_bucket{le="+Inf"} 3
app_time_seconds_sum 7.6
app_time_seconds_count 3
# HELP app_memory_bytes${' '}
# TYPE app_memory_bytes gauge
app_memory_bytes 5
`);
  });

  test('is OpenMetrics 1.0 for who asks for it', () => {
    const { type, body } = metricsText(filled().entries(), OPEN);
    expect(type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(body).toContain('# TYPE app_calls counter\napp_calls_total{policy="a"} 2\n');
    expect(body).toContain('# UNIT app_time_seconds seconds\n');
    expect(body.endsWith('app_memory_bytes 5\n# EOF\n')).toBe(true);
  });

  test('escapes what a label or a help may hold', () => {
    const registry = new Registry();
    registry.createCounter('a', { description: 'one\\\ntwo' }).add(1, { name: 'x"\\\ny' });
    expect(metricsText(registry.entries(), undefined).body).toBe(
      '# HELP a_total one\\\\\\ntwo\n# TYPE a_total counter\na_total{name="x\\"\\\\\\ny"} 1\n',
    );
  });
});

describe('the registry', () => {
  test('bounds the series of a metric, and loses no count', () => {
    const registry = new Registry();
    const counter = registry.createCounter('a');
    for (let i = 0; i < 10_000; i++) counter.add(1, { name: String(i) });
    const lines = metricsText(registry.entries(), undefined).body.trim().split('\n').slice(2);
    expect(lines).toHaveLength(2001);
    expect(lines.at(-1)).toBe('a_total{otel_metric_overflow="true"} 8000');
  });

  test('knows the same labels in another order and another object', () => {
    const registry = new Registry();
    const counter = registry.createCounter('a');
    counter.add(1, { x: '1', y: '2' });
    counter.add(1, { y: '2', x: '1' });
    expect(metricsText(registry.entries(), undefined).body).toContain('a_total{x="1",y="2"} 2');
  });

  test('lets no counter fall, and no name be made twice', () => {
    const registry = new Registry();
    const counter = registry.createCounter('a');
    counter.add(1);
    counter.add(-1);
    counter.add(Number.NaN);
    expect(metricsText(registry.entries(), undefined).body).toContain('a_total 1\n');
    expect(() => registry.createCounter('a')).toThrow('a is made twice');
  });

  test('reads a gauge when it is asked, and drops what was taken away', () => {
    const registry = new Registry();
    let value = 1;
    const gauge = registry.createObservableGauge('g');
    const read = ({ observe }: { observe(value: number): void }): void => observe(value);
    gauge.addCallback(read);
    value = Number.POSITIVE_INFINITY;
    expect(metricsText(registry.entries(), undefined).body).toContain('g +Inf\n');
    gauge.removeCallback(read);
    expect(metricsText(registry.entries(), undefined).body).not.toContain('g +Inf');
  });
});
