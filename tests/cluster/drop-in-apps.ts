import 'reflect-metadata';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastifyRateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit';
import { serve } from '@hono/node-server';
import { Controller, Get, type INestApplication, Module, type Type } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import {
  SkipThrottle,
  Throttle,
  ThrottlerGuard,
  ThrottlerModule,
  type ThrottlerModuleOptions,
} from '@nestjs/throttler';
import { comportaStore as expressStore } from 'comporta/express-rate-limit';
import { comportaStore as fastifyStore } from 'comporta/fastify-rate-limit';
import { comportaStore as honoStore } from 'comporta/hono-rate-limiter';
import { comportaStorage } from 'comporta/nest-throttler';
import express, { type Express } from 'express';
import { rateLimit } from 'express-rate-limit';
import fastify from 'fastify';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';

/** An application that limits with a project's own middleware. */
export interface App {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Limits {
  readonly limit: number;
  readonly windowMs: number;
}

/** What every drop-in store takes. */
export type Given = NonNullable<Parameters<typeof expressStore>[0]>;

const keyOf = (header: unknown): string => String(header ?? 'nobody');

async function listening(server: Server): Promise<App> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: close };
}

export const listenExpress = (app: Express): Promise<App> => listening(createServer(app));

/** Fastify with its plugin; `routes` are added after it. */
export async function listenFastify(
  plugin: RateLimitPluginOptions,
  routes: (app: ReturnType<typeof fastify>) => void,
): Promise<App> {
  const app = fastify();
  await app.register(fastifyRateLimit, { keyGenerator: ({ headers }) => keyOf(headers['x-client']), ...plugin });
  routes(app);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { url, [Symbol.asyncDispose]: () => app.close() };
}

/** Decorators by hand, as their compiled form is. */
function route(controller: Type, method: string, path: string, ...more: readonly MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(controller.prototype, method) as PropertyDescriptor;
  for (const decorate of [Get(path), ...more]) decorate(controller.prototype, method, descriptor);
}

class Hello {
  hello(): string {
    return 'hello';
  }

  free(): string {
    return 'free';
  }

  strict(): string {
    return 'strict';
  }
}
route(Hello, 'hello', '/');
route(Hello, 'free', '/free', SkipThrottle());
route(Hello, 'strict', '/strict', Throttle({ default: { limit: 1, ttl: 60_000 } }));
Controller()(Hello);

export async function listenNest(options: Exclude<ThrottlerModuleOptions, readonly unknown[]>): Promise<App> {
  class AppModule {}
  Module({
    imports: [ThrottlerModule.forRoot({ getTracker: ({ headers }) => keyOf(headers['x-client']), ...options })],
    controllers: [Hello],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(AppModule);
  const app: INestApplication = await NestFactory.create(AppModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => app.close() };
}

export async function listenHono(app: Hono): Promise<App> {
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  await new Promise<void>((resolve) => (server.listening ? resolve() : server.once('listening', resolve)));
  const close = async (): Promise<void> => {
    (server as Server).closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: close };
}

/** One route behind each project's middleware, keyed by the header `x-client`. */
export const apps: Readonly<Record<string, (given: Given, limits: Limits) => Promise<App>>> = {
  'express-rate-limit': (given, { limit, windowMs }) => {
    const app = express();
    const keyGenerator = ({ headers }: express.Request): string => keyOf(headers['x-client']);
    app.use(rateLimit({ store: expressStore(given), limit, windowMs, keyGenerator, standardHeaders: 'draft-7' }));
    app.get('/', (_request, response) => void response.send('hello'));
    return listenExpress(app);
  },
  '@fastify/rate-limit': (given, { limit: max, windowMs: timeWindow }) =>
    listenFastify({ store: fastifyStore(given), max, timeWindow }, (app) => app.get('/', () => 'hello')),
  '@nestjs/throttler': (given, { limit, windowMs: ttl }) =>
    listenNest({ throttlers: [{ limit, ttl }], storage: comportaStorage(given) }),
  'hono-rate-limiter': (given, { limit, windowMs }) => {
    const app = new Hono();
    const keyGenerator = (c: { req: { header(name: string): string | undefined } }) => keyOf(c.req.header('x-client'));
    app.use(rateLimiter({ store: honoStore(given), limit, windowMs, keyGenerator }));
    app.get('/', (c) => c.text('hello'));
    return listenHono(app);
  },
};
