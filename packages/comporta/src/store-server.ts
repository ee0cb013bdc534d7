export { type StoreRequest, type StoreResponse, serveStore, storeListener } from './serving/doors.js';
export type { ServeOptions } from './serving/serve.js';
