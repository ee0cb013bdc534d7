import { createRequire } from 'node:module';

/** Version of this package; the package file stands two folders up, in the sources and when built. */
export function version(): string {
  const { version: text } = createRequire(import.meta.url)('../../package.json') as { readonly version: string };
  return text;
}
