export type { Fetch } from './redis/http-post.js';
export { type HttpStoreOptions, httpStore } from './stores/http-store.js';
