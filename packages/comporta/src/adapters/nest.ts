import type { CanActivate, DynamicModule, ExecutionContext, ModuleMetadata, Provider, Type } from '@nestjs/common';
import type { ExceptionClasses } from '../doors/nest/exception.js';
import { HandlerGates } from '../doors/nest/gates.js';
import { type HandlerDecorator, type HandlerLimits, limitHandler, skipHandler } from '../doors/nest/rules.js';
import type { Gate, RateLimitOptions } from '../http/index.js';

export type { HandlerLimits } from '../doors/nest/rules.js';
export { type RateLimitOptions, RateLimitRefusal } from '../http/index.js';

/** Limits a handler, or all of a class, by a cost or a policy of its own. Throws a `ComportaError` for wrong ones. */
export const RateLimit: (limits: HandlerLimits<ExecutionContext>) => HandlerDecorator = limitHandler;

/** Leaves a handler, or all of a class, out. */
export const SkipRateLimit: () => HandlerDecorator = skipHandler;

/** Options; key, cost, count and allow functions get Nest's `ExecutionContext` as `request`. */
export type NestOptions = RateLimitOptions<ExecutionContext>;

/** What `forRootAsync` takes: how to make the options of what the application provides. */
export interface AsyncOptions {
  readonly imports?: ModuleMetadata['imports'];
  readonly inject?: readonly unknown[];
  readonly useFactory: (...injected: never[]) => NestOptions | Promise<NestOptions>;
}

/** Guard for `@UseGuards` and `APP_GUARD` that refuses calls over their limits. Throws when an option is wrong. */
export class RateLimitGuard implements CanActivate {
  readonly #gates: HandlerGates<ExecutionContext>;

  constructor(options: NestOptions) {
    this.#gates = new HandlerGates(options, CLASSES);
  }

  get gate(): Gate<ExecutionContext> {
    return this.#gates.gate;
  }

  canActivate(context: ExecutionContext): true | Promise<true> {
    return this.#gates.activate(context);
  }

  /** Nest calls it when the application ends. */
  onApplicationShutdown(): Promise<void> {
    return this.#gates.close();
  }
}

/** Guards all handlers of an application, and ends with it: `imports: [RateLimitModule.forRoot({ ... })]`. */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest takes classes as modules
export class RateLimitModule {
  static forRoot(options: NestOptions): DynamicModule {
    return moduleOf({ provide: RateLimitGuard, useValue: new RateLimitGuard(options) });
  }

  static forRootAsync({ imports = [], inject = [], useFactory }: AsyncOptions): DynamicModule {
    const make = async (...injected: never[]) => new RateLimitGuard(await useFactory(...injected));
    const guard = { provide: RateLimitGuard, useFactory: make, inject: inject as Type[] };
    return { ...moduleOf(guard), imports };
  }
}

function moduleOf(guard: Provider): DynamicModule {
  const providers = [guard, { provide: 'APP_GUARD', useExisting: RateLimitGuard }];
  return { module: RateLimitModule, global: true, providers, exports: [RateLimitGuard] };
}

/** By a name that is no literal: these packages may be missing. */
const installed = async (name: string): Promise<Record<string, never>> => import(name).catch(() => ({}));

const CLASSES: ExceptionClasses = {
  http: async () => (await import('@nestjs/common')).HttpException,
  ws: async () => (await installed('@nestjs/websockets')).WsException,
  rpc: async () => (await installed('@nestjs/microservices')).RpcException,
};
