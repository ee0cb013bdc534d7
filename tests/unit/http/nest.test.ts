import { EventEmitter } from 'node:events';
import {
  type ArgumentsHost,
  applyDecorators,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  type INestApplication,
  Res,
  UseGuards,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { concurrency, memoryStore, slidingWindow } from 'comporta';
import {
  type NestOptions,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  RateLimitRefusal,
  SkipRateLimit,
} from 'comporta/nest';
import { describe, expect, onTestFinished, test } from 'vitest';
import { decorate, type NestParts, nestApp } from './nest-app.js';
import { send } from './serve.js';
import { ManualClock } from './stores.js';

const limitOf = (limit: number) => slidingWindow({ limit, window: '10s' });
const optionsOf = (options: Partial<NestOptions> = {}): NestOptions =>
  ({ name: 'api', limits: limitOf(2), store: memoryStore({ clock: new ManualClock() }), ...options }) as NestOptions;

class Pages {
  free(): string {
    return 'free';
  }
  dear(): string {
    return 'dear';
  }
  login(): string {
    return 'login';
  }
  many(): string {
    return 'many';
  }
  usual(): string {
    return 'usual';
  }
  early(response: { write(part: string): void; end(part: string): void }): void {
    response.write('early ');
    response.end('bird');
  }
}
decorate(Pages, 'free', [Get('free'), SkipRateLimit()]);
decorate(Pages, 'dear', [Get('dear'), RateLimit({ cost: 2 })]);
decorate(Pages, 'login', [Get('login'), RateLimit({ limits: limitOf(1), key: 'global' })]);
decorate(Pages, 'many', [applyDecorators(Get('many'), RateLimit({ cost: 3 }))]);
decorate(Pages, 'usual', [Get('usual')]);
decorate(Pages, 'early', [Get('early')], Res());
Controller()(Pages);

class Health {
  state(): string {
    return 'well';
  }
  costly(): string {
    return 'costly';
  }
}
decorate(Health, 'state', [Get('state')]);
decorate(Health, 'costly', [Get('costly'), RateLimit({ cost: 2 })]);
Controller('health')(Health);
SkipRateLimit()(Health);

/** What is said of a class holds for those that extend it. */
class Deeper extends Health {}
Controller('deeper')(Deeper);

async function listen(app: INestApplication): Promise<number> {
  await app.listen(0, '127.0.0.1');
  return Number(new URL(await app.getUrl()).port);
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
])('on %s', (_, adapter) => {
  async function start(parts: NestParts = {}) {
    const controllers = [Pages, Health, Deeper];
    const imports = parts.imports ?? [RateLimitModule.forRoot(optionsOf())];
    const app = await nestApp(adapter(), { ...parts, controllers, imports });
    onTestFinished(() => app.close());
    const port = await listen(app);
    const ask = (path: string) => send(port, path);
    const statuses = async (...paths: readonly string[]) => {
      const all = [];
      for (const path of paths) all.push((await ask(path)).status);
      return all;
    };
    return { app, ask, statuses };
  }

  test('handlers can be left out, cost more, and have limits of their own', async () => {
    const { ask, statuses } = await start();
    expect(await statuses('/free', '/free', '/free')).toEqual([200, 200, 200]);
    expect((await ask('/free')).headers).not.toHaveProperty('ratelimit');
    expect(await statuses('/dear', '/dear', '/many', '/usual')).toEqual([200, 429, 429, 429]);
    const own = [await ask('/login'), await ask('/login')];
    expect(own.map(({ status }) => status)).toEqual([200, 429]);
    expect(own[1]?.headers['ratelimit-policy']).toBe('"api.Pages.login";q=1;w=10');
  });

  test('what is said of a method holds before what is said of its class or of its parent', async () => {
    const { statuses } = await start();
    expect(await statuses('/health/state', '/health/state', '/health/state')).toEqual([200, 200, 200]);
    expect(await statuses('/deeper/state', '/deeper/state', '/deeper/state')).toEqual([200, 200, 200]);
    expect(await statuses('/health/costly', '/health/costly')).toEqual([200, 429]);
  });

  test('limits of a handler need no store to keep count', async () => {
    const options = { name: 'api', limits: limitOf(9) };
    const { statuses } = await start({ imports: [RateLimitModule.forRoot(options)] });
    expect(await statuses('/login', '/login', '/usual')).toEqual([200, 429, 200]);
  });

  test('filters of the application get an HttpException, and what they send is theirs', async () => {
    class OwnWords implements ExceptionFilter {
      catch(exception: HttpException, host: ArgumentsHost): void {
        const { cause } = exception;
        const waitMs = cause instanceof RateLimitRefusal ? cause.retryAfterMs : undefined;
        const response = host.switchToHttp().getResponse();
        response.status(exception.getStatus()).send({ sorry: exception.message, waitMs });
      }
    }
    Catch(HttpException)(OwnWords);
    const { ask, statuses } = await start({ providers: [{ provide: APP_FILTER, useClass: OwnWords }] });
    await statuses('/usual', '/usual');
    const { status, headers, body } = await ask('/usual');
    expect(status).toBe(429);
    const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    expect(named).toMatchObject({ 'content-type': 'application/json; charset=utf-8', 'retry-after': '10' });
    expect(JSON.parse(body)).toEqual({
      sorry: 'api allows 2 requests in any 10s. Try again in 10 seconds.',
      waitMs: 10_000,
    });
  });

  test('the guard can be given as APP_GUARD, and told twice it counts once and says so', async () => {
    const errors: string[] = [];
    const guard = new RateLimitGuard(optionsOf({ onError: ({ message }) => errors.push(message) }));
    const twice = [1, 2].map(() => ({ provide: APP_GUARD, useValue: guard }));
    const { statuses } = await start({ imports: [], providers: twice });
    expect(await statuses('/usual', '/usual', '/usual')).toEqual([200, 200, 429]);
    expect(errors).toEqual([expect.stringContaining('counted once')]);
  });

  test('the gate ends with the application', async () => {
    const guard = new RateLimitGuard(optionsOf({ onStoreFailure: 'closed', onError: () => undefined }));
    const { app, statuses } = await start({ imports: [], providers: [{ provide: APP_GUARD, useValue: guard }] });
    expect(await statuses('/usual', '/login')).toEqual([200, 200]);
    await app.close();
    expect(await guard.gate.check(viewOf())).toMatchObject({ allowed: false, status: 503 });
    // That of the handler with limits of its own ends too.
    await expect(guard.canActivate(contextOf('http', Pages.prototype.login))).rejects.toMatchObject({ status: 503 });
  });

  test('routes that do not exist have no handler, and are not counted', async () => {
    const { statuses } = await start();
    expect(await statuses('/none', '/none', '/none', '/usual')).toEqual([404, 404, 404, 200]);
  });
});

/** As Nest hands it to guards. */
const contextOf = (type: string, handler: unknown, ...args: readonly unknown[]) =>
  ({
    getType: () => type,
    getArgs: () => args,
    getHandler: () => handler,
    getClass: () => Pages,
  }) as unknown as ExecutionContext;

const viewOf = () => ({
  request: undefined as unknown as ExecutionContext,
  method: 'GET',
  url: '/',
  route: undefined,
  peerAddress: '1.1.1.1',
  header: () => [],
});

test('@UseGuards puts a guard before one handler only', async () => {
  class Some {
    open(): string {
      return 'open';
    }
    shut(): string {
      return 'shut';
    }
  }
  decorate(Some, 'open', [Get('open')]);
  decorate(Some, 'shut', [Get('shut'), UseGuards(new RateLimitGuard(optionsOf({ limits: limitOf(0) })))]);
  Controller()(Some);
  const app = await nestApp(new ExpressAdapter(), { controllers: [Some] });
  onTestFinished(() => app.close());
  const port = await listen(app);
  expect([(await send(port, '/open')).status, (await send(port, '/shut')).status]).toEqual([200, 429]);
});

describe('a context that is not of HTTP', () => {
  const { costly } = Health.prototype;
  const subjects: string[] = [];
  const guardOf = (options: Partial<NestOptions> = {}) =>
    new RateLimitGuard(
      optionsOf({
        onVerdict: ({ decisions }, { url }) => void subjects.push(`${decisions[0]?.subject} ${url}`),
        onError: () => undefined,
        ...options,
      }),
    );

  test.each<[string, readonly unknown[], string]>([
    ['ws', [{ handshake: { headers: {}, address: '1.2.3.4' } }, {}, 'chat'], 'ip=1.2.3.4 /chat'],
    ['ws', [{ _socket: { remoteAddress: '1.2.3.4' } }, {}, 'chat'], 'ip=1.2.3.4 /chat'],
    ['ws', [{}, {}, () => undefined], 'anonymous /'],
    ['ws', [], 'anonymous /'],
    ['rpc', [{}, { get: () => [] }, { getPeer: () => '1.2.3.4:5', getPath: () => '/p.S/M' }], 'ip=1.2.3.4 /p.S/M'],
    ['rpc', [{}, { getPattern: () => 'sum' }], 'anonymous /sum'],
    ['rpc', [{}], 'anonymous /'],
    ['graphql', [{}, {}, { req: { headers: {}, socket: { remoteAddress: '1.2.3.4' }, url: '/q' } }], 'ip=1.2.3.4 /q'],
    ['graphql', [{}, {}, { req: { extra: { request: { headers: {}, url: '/w' } } } }], 'anonymous /w'],
    ['graphql', [{}, {}, undefined], 'anonymous /'],
    ['necord', [{}], 'anonymous /'],
    ['http', [], 'anonymous /'],
  ])('%s %# is decided by what there is, and a refusal is an exception', async (type, args, subject) => {
    const guard = guardOf();
    expect(await guard.canActivate(contextOf(type, costly, ...args))).toBe(true);
    expect(subjects.at(-1)).toBe(subject);
    await expect(guard.canActivate(contextOf(type, costly, ...args))).rejects.toThrow('Try again in 10 seconds.');
  });

  test('a message gives its place back at once, since nobody sees its end', async () => {
    const guard = guardOf({ limits: concurrency({ limit: 2, lease: '1h' }) });
    for (let i = 0; i < 3; i++) expect(await guard.canActivate(contextOf('ws', costly, {}, {}, 'a'))).toBe(true);
  });

  test('the fields of one query are settled together, by one listener on its response', async () => {
    const response = Object.assign(new EventEmitter(), { statusCode: 500, headersSent: true, writableFinished: true });
    const req = { headers: {}, socket: {}, url: '/graphql', res: response };
    const outcomes: number[] = [];
    const count = ({ status }: { readonly status: number }) => outcomes.push(status);
    const guard = guardOf({ limits: limitOf(99), count });
    for (let i = 0; i < 12; i++) await guard.canActivate(contextOf('graphql', costly, {}, {}, { req }));
    expect(response.listenerCount('finish')).toBe(1);
    expect(outcomes).toEqual([]);
    response.emit('finish');
    response.emit('close');
    expect(outcomes).toEqual(Array(12).fill(500));
    Object.assign(response, { destroyed: true });
    await guard.canActivate(contextOf('graphql', costly, {}, {}, { req }));
    expect(outcomes).toHaveLength(13);
  });

  test('a response that was sent already, or is of no known kind, is left alone', async () => {
    const request = { headers: {}, socket: { remoteAddress: '1.2.3.4' }, url: '/' };
    const written: unknown[] = [];
    const setHeader = (...field: readonly unknown[]) => written.push(field);
    const sent = { headersSent: true, setHeader, getHeader: () => undefined, once: () => undefined };
    for (const response of [sent, {}, null]) {
      const guard = guardOf();
      expect(await guard.canActivate(contextOf('http', costly, request, response))).toBe(true);
      await expect(guard.canActivate(contextOf('http', costly, request, response))).rejects.toThrow(HttpException);
    }
    expect(written).toEqual([]);
  });
});

test('wrong options of guards and decorators are errors where they are made', () => {
  expect(() => RateLimitModule.forRoot({ limits: limitOf(1), limit: 5 } as never)).toThrow('limit: unknown');
  const apply = (limits: object) => () => decorate(Health, 'state', [RateLimit(limits as never)]);
  expect(apply({ cost: -1 })).toThrow('cost: expected a whole number from 0');
  expect(apply({ cost: 1, key: 'ip' })).toThrow('key: unknown beside cost');
  expect(apply({ limits: limitOf(1), key: 'shoe size' })).toThrow('key');
});

test('key and cost functions get the ExecutionContext', () => {
  const options: NestOptions = {
    limits: limitOf(1),
    key: ({ request }) => request.switchToHttp().getRequest<{ readonly user: string }>().user,
    cost: ({ request }) => (request.getType() === 'http' ? 1 : 2),
  };
  const decorator = RateLimit({ limits: limitOf(1), key: ({ request }) => request.getClass().name });
  // @ts-expect-error: a context has no such field.
  const wrong = RateLimit({ limits: limitOf(1), key: ({ request }) => request.user });
  expect([options, decorator, wrong]).toHaveLength(3);
});
