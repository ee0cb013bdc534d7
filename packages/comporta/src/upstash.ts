export type { Fetch } from './redis/http-post.js';
export { type UpstashStoreOptions, upstashStore } from './stores/http-upstash.js';
