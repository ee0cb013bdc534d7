import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { fromNodeRedis, type NodeRedisLike } from '../../../packages/comporta/src/redis/node-redis.js';

test('the error of an outage that is over explains no later one', () => {
  const events = new EventEmitter();
  const client = fromNodeRedis(Object.assign(events, { isReady: false, isOpen: true }) as unknown as NodeRedisLike);
  events.emit('error', new Error('connect ECONNREFUSED'));
  expect(client.lastError()).toBe('connect ECONNREFUSED');
  events.emit('ready');
  expect(client.lastError()).toBeUndefined();
});
