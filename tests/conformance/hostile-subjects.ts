// What other tests use of the inside of the published suite.
export { hostileSubjects } from '../../packages/comporta/src/testing/store-subjects.js';
