import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, context, createContextKey, ROOT_CONTEXT, type Tracer } from '@opentelemetry/api';
import { createLimiter, fixedWindow } from 'comporta';
import { otelTracing } from 'comporta/telemetry';
import { faultyStore } from 'comporta/testing';
import { expect, onTestFinished, test } from 'vitest';

interface Told {
  readonly name: string;
  readonly attributes: unknown;
  readonly startTime: number;
  readonly parent: unknown;
  isEnded: boolean;
}

const REQUEST = createContextKey('request');

/** A tracer as OpenTelemetry's: the parent is the context that is active when a span starts. */
function tracer(): { readonly tracer: Pick<Tracer, 'startSpan'>; readonly spans: Told[] } {
  const spans: Told[] = [];
  const startSpan = (name: string, options = {}): { end(): void } => {
    const { attributes, startTime = 0 } = options as { attributes?: unknown; startTime?: number };
    const told = { name, attributes, startTime, parent: context.active().getValue(REQUEST), isEnded: false };
    spans.push(told);
    return {
      end: () => {
        told.isEnded = true;
      },
    };
  };
  return { tracer: { startSpan } as Pick<Tracer, 'startSpan'>, spans };
}

/** What OpenTelemetry's Node packages do. */
function followContexts(): void {
  const storage = new AsyncLocalStorage<Context>();
  context.setGlobalContextManager({
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, run, self, ...args) => storage.run(active, () => run.call(self as never, ...args)),
    bind: (_, target) => target,
    enable: () => context as never,
    disable: () => context as never,
  });
  onTestFinished(() => context.disable());
}

test('each decision is a span under the one that is active where it is asked for', async () => {
  followContexts();
  const { tracer: of, spans } = tracer();
  const store = faultyStore();
  store.slow(5);
  const limiter = createLimiter({
    policy: 'api',
    limits: fixedWindow({ limit: 1, window: '1d' }),
    store,
    timeoutMs: 5000,
  });
  const stop = otelTracing(of, limiter);
  const ask = (request: string) =>
    context.with(ROOT_CONTEXT.setValue(REQUEST, request), () => limiter.consume('203.0.113.9'));
  const before = performance.now();
  const asked = [ask('one'), ask('two')];
  const after = performance.now();
  await Promise.all(asked);
  expect(spans).toMatchObject([
    { name: 'comporta.decision', parent: 'one', isEnded: true },
    { name: 'comporta.decision', parent: 'two', isEnded: true },
  ]);
  expect(spans.map(({ attributes }) => attributes)).toEqual([
    { 'comporta.policy': 'api', 'comporta.outcome': 'allowed', 'comporta.source': 'redis', 'comporta.cost': 1 },
    { 'comporta.policy': 'api', 'comporta.outcome': 'denied', 'comporta.source': 'redis', 'comporta.cost': 1 },
  ]);
  for (const { startTime } of spans) {
    expect(startTime).toBeGreaterThanOrEqual(before);
    // Reckoned back from when it is told: later than it was by what lies between.
    expect(startTime).toBeLessThanOrEqual(after + 1);
  }
  stop();
  await limiter.consume('other');
  expect(spans).toHaveLength(2);
  await limiter.close();
});
