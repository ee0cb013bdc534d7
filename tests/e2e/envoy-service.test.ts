import http2 from 'node:http2';
import { join } from 'node:path';
import { Client, credentials, loadPackageDefinition, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Answered } from '../../packages/server/src/envoy/grpc/should-rate-limit.js';
import { makeFolder, root } from './cli-support.js';
import { configIn, connectHealth, of, type RlsRequest, startDoor } from './envoy-support.js';

const SHOP = `
domain: shop
descriptors:
  - { key: user, rate_limit: { requests_per_unit: 3, unit: day, name: per-user } }
  - { key: free, rate_limit: { unlimited: true } }
`;

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

const start = (envoy: object = {}, hooks = {}) => startDoor(configIn(makeFolder(), [SHOP], envoy), { hooks });

/** Bytes as they are, for what no client library would send. */
function rawClient(address: string, options: object = {}) {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1, ...options });
  onTestFinished(() => client.close());
  const asIs = (bytes: Buffer) => bytes;
  return (bytes: Buffer): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(PATH, asIs, asIs, bytes, (error, answer) =>
        error === null && answer !== undefined ? resolve(answer) : reject(error),
      );
    });
}

describe('a request is answered with', () => {
  const [user] = of('user=a');
  test.each<[string, RlsRequest, status]>([
    ['no domain', { descriptors: of('user=a') }, status.INVALID_ARGUMENT],
    ['no descriptors', { domain: 'shop' }, status.INVALID_ARGUMENT],
    ['an empty key', { domain: 'shop', descriptors: of('=a') }, status.INVALID_ARGUMENT],
    [
      'an override without a unit',
      { domain: 'shop', descriptors: [{ ...user, limit: { requests_per_unit: 1, unit: 0 } }] },
      status.INVALID_ARGUMENT,
    ],
    [
      'an override of a unit that does not exist',
      { domain: 'shop', descriptors: [{ ...user, limit: { requests_per_unit: 1, unit: 99 } }] },
      status.INVALID_ARGUMENT,
    ],
    [
      'an override and no entries',
      { domain: 'shop', descriptors: [{ limit: { requests_per_unit: 1, unit: 'DAY' } }] },
      status.INVALID_ARGUMENT,
    ],
    [
      'a cost above 2^53',
      { domain: 'shop', descriptors: [{ ...user, hits_addend: { value: 2 ** 60 } }] },
      status.INVALID_ARGUMENT,
    ],
    [
      '10 001 descriptors',
      { domain: 'shop', descriptors: Array.from({ length: 10_001 }, () => user ?? {}) },
      status.RESOURCE_EXHAUSTED,
    ],
    ['5 MiB', { domain: 'shop', descriptors: of(`user=${'x'.repeat(5 << 20)}`) }, status.RESOURCE_EXHAUSTED],
  ])('%s: the status says whose fault it is, and the next request is answered', async (_, request, code) => {
    const { ask } = await start();
    await expect(ask(request)).rejects.toMatchObject({ code });
    expect((await ask({ domain: 'shop', descriptors: of('user=a') })).statuses[0]?.limit_remaining).toBe(2);
  });

  test('bytes that are no request: INVALID_ARGUMENT', async () => {
    const send = rawClient((await start()).address);
    for (const bytes of [Buffer.from('not protobuf'), Buffer.alloc(100, 0xff), Buffer.from([0x12, 0x7f])])
      await expect(send(bytes)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  test('fields that are not known: passed over', async () => {
    const send = rawClient((await start()).address);
    const known = Buffer.from([
      0x0a,
      4,
      ...Buffer.from('shop'),
      0x12,
      11,
      0x0a,
      9,
      0x0a,
      4,
      ...Buffer.from('user'),
      0x12,
      1,
      97,
    ]);
    const unknown = Buffer.from([0xf2, 0x06, 3, 1, 2, 3, 0xf8, 0x06, 5]);
    expect((await send(Buffer.concat([unknown, known, unknown]))).subarray(0, 2)).toEqual(Buffer.from([8, 1]));
  });

  test('nothing that applies: OK, without a limit', async () => {
    const { ask } = await start();
    const nothing = [{ code: 'OK' }];
    expect((await ask({ domain: 'nobody', descriptors: of('user=a') })).statuses).toEqual(nothing);
    expect((await ask({ domain: 'shop', descriptors: of('nobody=a') })).statuses).toEqual(nothing);
    const empty = await ask({ domain: 'shop', descriptors: [{}] });
    expect([empty.overall_code, empty.statuses]).toEqual(['OK', nothing]);
  });

  test('10 000 descriptors: as many statuses, in their order', async () => {
    const { ask } = await start();
    const pairs = Array.from({ length: 10_000 }, (_, i) => (i % 2 === 0 ? `user=${i}` : `free=${i}`));
    const { statuses, overall_code: code } = await ask({ domain: 'shop', descriptors: of(...pairs) });
    expect([code, statuses.length]).toEqual(['OK', 10_000]);
    expect(statuses.slice(0, 2).map(({ limit_remaining: left }) => left)).toEqual([2, 2 ** 32 - 1]);
  });

  test('a value of 1 MB: counted like any other', async () => {
    const { ask } = await start();
    const request = { domain: 'shop', descriptors: of(`user=${'é'.repeat(1 << 19)}`) };
    const left = [];
    for (let i = 0; i < 4; i++) left.push((await ask(request)).statuses[0]?.limit_remaining ?? 0);
    expect(left).toEqual([2, 1, 0, 0]);
    expect((await ask(request)).overall_code).toBe('OVER_LIMIT');
  });
});

test('a deadline that leaves no time is DEADLINE_EXCEEDED, and charges nothing', async () => {
  const { ask, address } = await start();
  const session = http2.connect(`http://${address}`);
  onTestFinished(() => session.close());
  const message = Buffer.from([
    0x0a,
    4,
    ...Buffer.from('shop'),
    0x12,
    11,
    0x0a,
    9,
    0x0a,
    4,
    ...Buffer.from('user'),
    0x12,
    1,
    97,
  ]);
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
  const send = (timeout: string) =>
    new Promise((resolve, reject) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': PATH,
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-timeout': timeout,
      });
      let code: unknown;
      const see = (headers: http2.IncomingHttpHeaders) => {
        code = headers['grpc-status'] ?? code;
      };
      stream.on('response', see).on('trailers', see).on('error', reject);
      stream.on('close', () => resolve(code)).resume();
      stream.end(frame);
    });
  for (const timeout of ['1n', '900u', '1m']) expect(await send(timeout)).toBe(String(status.DEADLINE_EXCEEDED));
  const request = { domain: 'shop', descriptors: of('user=a') };
  expect((await ask(request)).statuses[0]?.limit_remaining).toBe(2);
  expect(await send('1S')).toBe(String(status.OK));
  expect((await ask(request)).statuses[0]?.limit_remaining ?? 0).toBe(0);
});

test('what became of each call is told, for metrics', async () => {
  const told: Answered[] = [];
  const { ask } = await start({}, { onAnswer: (answered: Answered) => told.push(answered) });
  await ask({ domain: 'shop', descriptors: of('user=a') });
  await ask({ domain: 'nobody', descriptors: of('user=a') });
  await ask({ domain: '', descriptors: of('user=a') }).catch(() => undefined);
  expect(told.map(({ domain, code, answer }) => [domain, code, answer?.isDomainKnown])).toEqual([
    ['shop', status.OK, true],
    ['nobody', status.OK, false],
    ['', status.INVALID_ARGUMENT, undefined],
  ]);
  expect(told[0]?.answer?.statuses[0]?.hits).toMatchObject({ statsKey: 'shop.user', total: 1, withinLimit: 1 });
  for (const { durationMs } of told) expect(durationMs).toBeGreaterThan(0);
});

describe('health', () => {
  const check = (client: ReturnType<typeof connectHealth>, service: string) =>
    new Promise<string | number>((resolve) => {
      client.Check({ service }, (error, answer) => resolve(error === null ? answer.status : error.code));
    });

  test('is served under the names that are in use, and NOT_FOUND for others', async () => {
    const client = connectHealth((await start()).address);
    const names = ['', 'ratelimit', 'envoy.service.ratelimit.v3.RateLimitService', 'other'];
    const answers = [];
    for (const name of names) answers.push(await check(client, name));
    expect(answers).toEqual(['SERVING', 'SERVING', 'SERVING', status.NOT_FOUND]);
    const list = await new Promise((resolve) => client.List({}, (_, answer) => resolve(answer.statuses)));
    expect(list).toEqual(Object.fromEntries(names.slice(0, 3).map((name) => [name, { status: 'SERVING' }])));
  });

  test('is told to those who watch, when it changes, and then they are let go', async () => {
    const door = await start({ drainDelay: '1s' });
    const client = connectHealth(door.address);
    const [known, unknown] = [client.Watch({ service: 'ratelimit' }), client.Watch({ service: 'other' })];
    const seen: string[] = [];
    known.on('data', ({ status: word }) => seen.push(`ratelimit ${word}`));
    unknown.on('data', ({ status: word }) => seen.push(`other ${word}`));
    const ends = [known, unknown].map((call) => new Promise((resolve) => call.on('end', resolve).on('error', resolve)));
    await new Promise((resolve) => known.once('data', resolve));
    await check(client, '');
    const stopped = door.stop();
    // Draining has begun, and calls are answered still.
    await expect.poll(() => seen).toContain('ratelimit NOT_SERVING');
    expect(await check(client, '')).toBe('NOT_SERVING');
    expect((await door.ask({ domain: 'shop', descriptors: of('user=a') })).overall_code).toBe('OK');
    await stopped;
    await Promise.all(ends);
    expect(seen.filter((word) => word.startsWith('ratelimit'))).toEqual(['ratelimit SERVING', 'ratelimit NOT_SERVING']);
    expect(new Set(seen.filter((word) => word.startsWith('other')))).toEqual(new Set(['other SERVICE_UNKNOWN']));
  });
});

test('reflection lists the services and describes them', async () => {
  const { address } = await start();
  const file = join(root, 'node_modules/@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto');
  type Reflection = new (
    address: string,
    how: ReturnType<typeof credentials.createInsecure>,
  ) => Client & { ServerReflectionInfo(): import('@grpc/grpc-js').ClientDuplexStream<object, Record<string, unknown>> };
  const { grpc } = loadPackageDefinition(loadSync(file)) as unknown as {
    grpc: { reflection: { v1: { ServerReflection: Reflection } } };
  };
  const client = new grpc.reflection.v1.ServerReflection(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const call = client.ServerReflectionInfo();
  const ask = (request: object) =>
    new Promise<Record<string, unknown>>((resolve) => {
      call.once('data', resolve);
      call.write(request);
    });
  const { listServicesResponse } = await ask({ listServices: '' });
  const { service } = listServicesResponse as { service: { name: string }[] };
  expect(service.map(({ name }) => name).sort()).toEqual([
    'envoy.service.ratelimit.v3.RateLimitService',
    'grpc.health.v1.Health',
  ]);
  const found = await ask({ fileContainingSymbol: 'envoy.service.ratelimit.v3.RateLimitService' });
  const { fileDescriptorProto } = found.fileDescriptorResponse as { fileDescriptorProto: Buffer[] };
  expect(Buffer.concat(fileDescriptorProto).toString('latin1')).toContain('ShouldRateLimit');
  call.end();
});
