import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClientReadableStream, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { concurrency, fixedWindow } from 'comporta';
import { rateLimit } from 'comporta/grpc';
import type { RateLimitOptions } from 'comporta/http';
import { faultyStore } from 'comporta/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { retryStatus } from '../../../packages/comporta/src/doors/grpc/retry-info.js';
import { hostOfPeer } from '../../../packages/comporta/src/doors/messages/message-view.js';
import { until } from '../../support/wait.js';
import { type Answer, ask, bucket, connected, type Greeter, waitingCalls } from './greeter.js';
import { decode, retryInfoIn } from './protobuf.js';

const codes = async (calls: readonly Promise<Answer>[]) => (await Promise.all(calls)).map(({ code }) => code);

describe('a unary call', () => {
  test('passes until the limit, then is RESOURCE_EXHAUSTED with the fields, a RetryInfo and a push-back', async () => {
    const client = await connected({});
    const [first, second, third] = [await ask(client), await ask(client), await ask(client)];
    expect([first.code, second.code, first.value]).toEqual([status.OK, status.OK, 'hello a']);
    expect(first.metadata.get('ratelimit')).toEqual(['"api";r=1;t=2']);
    expect(third.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(third.details).toBe('api allows 2 requests at once, refilled at 1 per 1500ms. Try again in 2 seconds.');
    const { metadata } = third;
    expect(metadata.get('ratelimit-policy')).toEqual(['"api";q=2;w=3']);
    expect(metadata.get('ratelimit')).toEqual(['"api";r=0;t=2']);
    expect(metadata.get('retry-after')).toEqual(['2']);
    expect(metadata.get('grpc-retry-pushback-ms')).toEqual(['1500']);
    expect(metadata.get('content-type')).not.toContain('application/problem+json');
    const [details] = metadata.get('grpc-status-details-bin');
    expect(retryInfoIn(details as Buffer)).toEqual({
      code: status.RESOURCE_EXHAUSTED,
      message: third.details,
      type: 'type.googleapis.com/google.rpc.RetryInfo',
      delayMs: 1500,
    });
  });

  test('that can never pass is told not to try again', async () => {
    const client = await connected({ cost: 3 });
    const { code, metadata } = await ask(client);
    expect(code).toBe(status.RESOURCE_EXHAUSTED);
    expect(metadata.get('grpc-retry-pushback-ms')).toEqual(['-1']);
    expect(metadata.get('grpc-status-details-bin')).toEqual([]);
  });

  test('is UNAVAILABLE in an outage with mode closed, and passes with mode open', async () => {
    const store = faultyStore();
    store.down();
    const [closed, open] = [
      await connected({ store, onStoreFailure: 'closed' }),
      await connected({ store, onStoreFailure: 'open' }),
    ];
    const refused = await ask(closed);
    expect([refused.code, refused.metadata.get('retry-after')]).toEqual([status.UNAVAILABLE, ['1']]);
    expect(retryInfoIn(refused.metadata.get('grpc-status-details-bin')[0] as Buffer).delayMs).toBe(1000);
    const passed = await ask(open);
    expect([passed.code, passed.metadata.get('ratelimit')]).toEqual([status.OK, []]);
  });

  test('whom deny names is refused with PERMISSION_DENIED', async () => {
    const client = await connected({ deny: ['127.0.0.1'] });
    expect((await ask(client)).code).toBe(status.PERMISSION_DENIED);
  });

  test('is decided when the store answers later, once for each call made at once', async () => {
    const store = faultyStore();
    store.slow(5);
    const client = await connected({ store, timeoutMs: 5000, limits: bucket(3) });
    const all = await codes(Array.from({ length: 10 }, () => ask(client)));
    expect(all.filter((code) => code === status.OK)).toHaveLength(3);
  });
});

describe('who is counted', () => {
  test('policies meet methods by their paths', async () => {
    const client = await connected({ match: { path: '/test.Greeter/Other' }, limits: bucket(1) });
    expect(await codes([ask(client, { name: 'other' }), ask(client, { name: 'other' })])).toEqual([
      status.OK,
      status.RESOURCE_EXHAUSTED,
    ]);
    expect((await ask(client)).code).toBe(status.OK);
  });

  test('header sources read the metadata, and key functions get the call', async () => {
    const byHeader = await connected({ key: 'header:x-tenant', limits: bucket(1) });
    const byCall = await connected({ key: ({ request }) => request.metadata.get('x-tenant')[0], limits: bucket(1) });
    for (const client of [byHeader, byCall]) {
      const as = async (tenant: string) => (await ask(client, { fields: { 'x-tenant': tenant } })).code;
      expect([await as('a'), await as('a'), await as('b')]).toEqual([status.OK, status.RESOURCE_EXHAUSTED, status.OK]);
    }
  });

  test.each(['127.0.0.1:0', '[::1]:0'])(
    'on %s the client is the address of the peer, whatever its port',
    async (address) => {
      const subjects: string[] = [];
      const onVerdict: RateLimitOptions['onVerdict'] = ({ decisions }) =>
        void subjects.push(decisions[0]?.subject ?? '');
      const client = await connected({ onVerdict }, address);
      await ask(client);
      expect(subjects).toEqual([address.startsWith('[') ? 'ip=::/64' : 'ip=127.0.0.1']);
    },
  );

  test('through a unix socket there is no address, and calls count as anonymous', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'comporta-grpc-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const subjects: string[] = [];
    const onVerdict: RateLimitOptions['onVerdict'] = ({ decisions }) => void subjects.push(decisions[0]?.subject ?? '');
    const client = await connected({ onVerdict, onError: () => undefined }, `unix:${join(folder, 'socket')}`);
    expect((await ask(client)).code).toBe(status.OK);
    expect(subjects).toEqual(['anonymous']);
  });

  test.each([
    ['ipv4:1.2.3.4:50', '1.2.3.4'],
    ['1.2.3.4:50', '1.2.3.4'],
    ['1.2.3.4', '1.2.3.4'],
    ['ipv6:[2001:db8::1]:50', '2001:db8::1'],
    ['ipv6:%5B2001:db8::1%5D:50', '2001:db8::1'],
    ['2001:db8::1:50', '2001:db8::1'],
    ['unix:/run/a.sock', undefined],
    ['unknown', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('the address in the peer %s is %s', (peer, address) => {
    expect(hostOfPeer(peer)).toBe(address);
  });

  test('behind a trusted proxy the client is the one that the proxy names', async () => {
    const client = await connected({ trustedProxies: ['loopback'], limits: bucket(1) });
    const from = async (value: string) => (await ask(client, { fields: { 'x-forwarded-for': value } })).code;
    expect([await from('7.7.7.7'), await from('7.7.7.7'), await from('8.8.8.8')]).toEqual([
      status.OK,
      status.RESOURCE_EXHAUSTED,
      status.OK,
    ]);
  });
});

describe('a stream', () => {
  const ended = (stream: ClientReadableStream<string>) =>
    new Promise<{ readonly code: number; readonly values: readonly string[] }>((resolve) => {
      const values: string[] = [];
      stream.on('data', (value: string) => values.push(value)).on('error', () => undefined);
      stream.on('status', ({ code }: StatusObject) => resolve({ code, values }));
    });

  test('of answers is counted once, and refused before its first', async () => {
    const client = await connected({ limits: bucket(1) });
    expect(await ended(client.ticks('end'))).toEqual({ code: status.OK, values: ['1'] });
    expect(await ended(client.ticks('end'))).toEqual({ code: status.RESOURCE_EXHAUSTED, values: [] });
  });

  test('in both directions is counted once, however many messages it has', async () => {
    const client = await connected({ limits: bucket(1) });
    const echo = () => {
      const call = client.echo();
      for (const value of ['a', 'b', 'c']) call.write(value);
      call.end();
      return ended(call);
    };
    expect(await echo()).toEqual({ code: status.OK, values: ['a', 'b', 'c'] });
    expect((await echo()).code).toBe(status.RESOURCE_EXHAUSTED);
  });

  test('holds its place until its client leaves', async () => {
    const client = await connected({ limits: concurrency({ limit: 1, lease: '1h' }) });
    const call = client.ticks('on');
    await new Promise((resolve) => call.once('data', resolve));
    expect((await ask(client)).code).toBe(status.RESOURCE_EXHAUSTED);
    call.on('error', () => undefined).cancel();
    await until(async () => (await ask(client)).code === status.OK, { what: 'the place of the client that left' });
  });
});

describe('a refusal for want of a place', () => {
  test('tells no wait: places come free when calls end, long before their leases do', async () => {
    const client = await connected({ limits: concurrency({ limit: 1, lease: '1h' }) });
    const call = client.ticks('on');
    await new Promise((resolve) => call.once('data', resolve));
    const { code, metadata } = await ask(client);
    expect(code).toBe(status.RESOURCE_EXHAUSTED);
    expect(metadata.get('grpc-retry-pushback-ms')).toEqual([]);
    expect(metadata.get('grpc-status-details-bin')).toEqual([]);
    call.on('error', () => undefined).cancel();
  });

  test.each<[string, RateLimitOptions, string[]]>([
    [
      'a plan',
      { limits: bucket(9), plans: { small: concurrency({ limit: 1, lease: '1h' }) }, plan: () => 'small' },
      [],
    ],
    ['one of several policies', { policies: [{ name: 'a', limits: concurrency({ limit: 1, lease: '1h' }) }] }, []],
    ['a rate too', { limits: [concurrency({ limit: 9, lease: '1h' }), bucket(1)] }, ['1500']],
  ])('of %s is known as such', async (_, options, pushBack) => {
    const client = await connected(options);
    const call = client.ticks('on');
    await new Promise((resolve) => call.once('data', resolve));
    const { code, metadata } = await ask(client);
    expect([code, metadata.get('grpc-retry-pushback-ms')]).toEqual([status.RESOURCE_EXHAUSTED, pushBack]);
    call.on('error', () => undefined).cancel();
  });
});

describe('the end of a call', () => {
  async function watched(use: (client: Greeter, outcomes: unknown[]) => Promise<unknown>) {
    const outcomes: unknown[] = [];
    const count = ({ status: http, aborted }: { readonly status: number; readonly aborted: boolean }) => {
      outcomes.push([http, aborted]);
      return 1;
    };
    const client = await connected({ count, limits: fixedWindow({ limit: 99, window: '1d' }) });
    await use(client, outcomes);
    return outcomes;
  }

  test('is told as the HTTP status of its code', async () => {
    const outcomes = await watched(async (client) => [await ask(client), await ask(client, { request: 'fail' })]);
    expect(outcomes).toEqual([
      [200, false],
      [404, false],
    ]);
  });

  test('is told of clients that cancel and of deadlines that pass, once each', async () => {
    const outcomes = await watched(async (client, seen) => {
      const call = client.wait('a', new Metadata(), {}, () => undefined);
      await until(() => waitingCalls() === 1, { what: 'the call' });
      call.cancel();
      await until(() => seen.length === 1, { what: 'the end of the call that was cancelled' });
      await ask(client, { name: 'wait', deadline: Date.now() + 50 });
      await until(() => seen.length === 2, { what: 'the end of the late call' });
    });
    expect(outcomes[0]).toEqual([0, true]);
    expect([
      [504, false],
      [0, true],
    ]).toContainEqual(outcomes[1]);
    expect(outcomes).toHaveLength(2);
  });

  test('gives back successes where only failures count', async () => {
    const client = await connected({ count: 'failures', limits: bucket(1) });
    const all = [];
    for (const request of ['a', 'a', 'fail', 'a']) all.push((await ask(client, { request })).code);
    expect(all).toEqual([status.OK, status.OK, status.NOT_FOUND, status.RESOURCE_EXHAUSTED]);
  });

  test('that comes before the decision harms nobody, and frees the place', async () => {
    const store = faultyStore();
    let decided = 0;
    const onVerdict = () => void decided++;
    const limits = concurrency({ limit: 1, lease: '1h' });
    const client = await connected({ store, timeoutMs: 5000, limits, onVerdict });
    store.slow(150);
    const { code } = await ask(client, { deadline: Date.now() + 30 });
    expect([code, decided]).toEqual([status.DEADLINE_EXCEEDED, 0]);
    await until(() => decided === 1, { what: 'the decision that nobody waits for' });
    store.up();
    await until(async () => (await ask(client)).code === status.OK, { what: 'the place' });
  });
});

test('wrong options are errors when the interceptor is made', () => {
  expect(() => rateLimit({ limits: bucket(1), limit: 5 } as never)).toThrow('limit: unknown');
});

test.each([1, 999, 999.5, 1000, 1500, 0.5, 86_400_000, 2 ** 45])('a delay of %d ms is written exactly', (delayMs) => {
  const type = 'type.googleapis.com/google.rpc.RetryInfo';
  const message = 'põe água'.repeat(40);
  const bytes = Buffer.from(retryStatus(8, message, delayMs));
  expect(retryInfoIn(bytes)).toEqual({ code: 8, message, type, delayMs: Math.ceil(delayMs) });
});

test('the decoder of these tests reads what others wrote', () => {
  expect(decode(Buffer.from([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69]))).toEqual([
    [1, 150],
    [2, Buffer.from('hi')],
  ]);
});
