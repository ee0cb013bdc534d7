export { type AdapterCase, adapterSuite, type StartApp, type StartedApp, type SuiteAnswer } from './adapter-suite.js';
export { AssertionError } from './assertion.js';
export { FakeClock } from './fake-clock.js';
export { type FaultyStore, faultyStore } from './faulty-store.js';
export { type TestLimiterOptions, testLimiter } from './limiter.js';
export {
  assertAdmits,
  assertDegraded,
  assertRefuses,
  type ExpectedDegraded,
  type ExpectedRefusal,
} from './limiter-assertions.js';
export { type StoreCase, storeSuite } from './store-suite.js';
