import type { NodePair } from './by-node.js';

/** What the servers of web frameworks pass beside a request. */
export interface ServerEnv {
  readonly incoming?: NodePair['req'];
  readonly outgoing?: NodePair['res'];
}

/** The server's own context, which is the environment of a request or a part of it. */
export function serverEnv(environment: unknown): ServerEnv {
  const env = (environment ?? {}) as ServerEnv & { readonly server?: ServerEnv; readonly context?: ServerEnv };
  return env.incoming === undefined ? (env.server ?? env.context ?? env) : env;
}

/** What may keep the instance awake. Hono's getter throws where the platform has no such context. */
export function hostContexts(context: { readonly env: unknown; readonly executionCtx?: unknown }): readonly unknown[] {
  const env = serverEnv(context.env);
  try {
    return [context.executionCtx, env];
  } catch {
    return [env];
  }
}
