/** What a platform offers under a global name; `undefined` where it offers none. */
export const globalValue = (name: string | symbol): unknown => Reflect.get(globalThis, name);

/** Puts a value where {@link globalValue} finds it, for every copy of this package in the process. */
export const setGlobalValue = (name: symbol, value: unknown): boolean => Reflect.set(globalThis, name, value);

/** Runs on Cloudflare Workers, where connections cannot outlive a request. */
export function isWorkers(): boolean {
  return (globalValue('navigator') as { readonly userAgent?: unknown } | undefined)?.userAgent === 'Cloudflare-Workers';
}

/** Requests are kept apart: none may wait for what another one began. True of Workers and what is built on them. */
export function isolatesRequests(): boolean {
  return isWorkers() || globalValue('EdgeRuntime') !== undefined;
}
