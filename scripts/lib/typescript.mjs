// `node --import ./scripts/lib/typescript.mjs file.ts` runs TypeScript from source, the packages included.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
