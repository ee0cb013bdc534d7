import type { Limit } from 'comporta';
import { kinds as published } from '../../packages/comporta/src/testing/store-limiters.js';

// What other tests use of the inside of the published suite.
export { ask, limiterOn } from '../../packages/comporta/src/testing/store-limiters.js';
export const kinds: Readonly<Record<string, (limit: number) => Limit>> = published;
