/** What a platform offers under a global name; `undefined` where it offers none. */
export const globalValue = (name: string | symbol): unknown => Reflect.get(globalThis, name);
