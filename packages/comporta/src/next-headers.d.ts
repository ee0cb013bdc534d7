/** The part of Next that is loaded when an action runs. Next is an optional peer, so its own types may be absent. */
declare module 'next/headers.js' {
  export function headers(): Promise<Headers>;
}
