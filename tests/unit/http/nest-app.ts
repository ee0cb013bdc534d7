import 'reflect-metadata';
import { Readable } from 'node:stream';
import {
  All,
  Controller,
  type DynamicModule,
  type INestApplication,
  Module,
  type NestApplicationOptions,
  Req,
  Res,
  type Type,
} from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import type { StartedApp, SuiteAnswer } from 'comporta/testing';
import type { Response } from 'express';
import type { FastifyReply } from 'fastify';

const quiet: NestApplicationOptions = { logger: false, abortOnError: false };

/** An application of Nest; without the syntax of decorators, which this project's tests do not compile. */
export async function nestApp(
  adapter: AbstractHttpAdapter,
  { imports = [], controllers = [], providers = [] }: NestParts,
): Promise<INestApplication> {
  class App {}
  Module({ imports: [...imports], controllers: [...controllers], providers: [...providers] as Type[] })(App);
  return await NestFactory.create(App, adapter, quiet);
}

export interface NestParts {
  readonly imports?: readonly DynamicModule[];
  readonly controllers?: readonly Type[];
  readonly providers?: readonly unknown[];
}

/** Applies decorators to a method, and those of its parameters, as the compiler does. */
export function decorate(
  target: Type,
  method: string,
  decorators: readonly MethodDecorator[],
  ...parameters: readonly ParameterDecorator[]
): void {
  const { prototype } = target;
  const descriptor = Object.getOwnPropertyDescriptor(prototype, method) as PropertyDescriptor;
  for (const decorator of decorators.toReversed()) decorator(prototype, method, descriptor);
  for (const [i, parameter] of parameters.entries()) parameter(prototype, method, i);
}

/** The application that the published suite asks for. */
export async function startNest(
  adapter: AbstractHttpAdapter,
  limiter: DynamicModule,
  answer: (path: string) => SuiteAnswer,
): Promise<StartedApp> {
  class Everything {
    handle({ originalUrl }: { readonly originalUrl: string }, response: Response | FastifyReply): void {
      const { status, body, isEndless } = answer(new URL(originalUrl, 'http://a').pathname);
      response.status(status);
      if (!isEndless) response.send(body);
      else if ('write' in response) response.write(body);
      else response.send(endless(body));
    }
  }
  decorate(Everything, 'handle', [All('*')], Req(), Res());
  Controller()(Everything);
  const app = await nestApp(adapter, { imports: [limiter], controllers: [Everything] });
  await app.listen(0, '127.0.0.1');
  return { url: (await app.getUrl()).replace('[::1]', '127.0.0.1'), close: () => app.close() };
}

function endless(first: string): Readable {
  const part = new Readable({ read: () => undefined });
  part.push(first);
  return part;
}
