export { FakeClock } from 'comporta/testing';
export { nextTurn as flush } from '../../packages/comporta/src/core/time.js';
