import { memoryStore, type Store } from 'comporta';
import { httpStore } from 'comporta/http-store';
import { redisStore } from 'comporta/redis';
import { upstashStore } from 'comporta/upstash';
import { expect, test } from 'vitest';

const token = 'secret';
const url = 'https://db.example.org';

test.each<[string, (options: object) => Store, string]>([
  ['redisStore', (options) => redisStore('redis://127.0.0.1:1', options), 'keyPrefix, .*batch, .*natMap'],
  ['upstashStore', (options) => upstashStore({ url, token, ...options }), 'keyPrefix, .*batch, .*token'],
  ['httpStore', (options) => httpStore(url, { token, ...options }), 'token, .*batch'],
  ['memoryStore', (options) => memoryStore(options), 'maxSubjects'],
])('%s names an option that there is none of, and those that there are', (_, make, known) => {
  const message = expect.stringMatching(new RegExp(`^batching: unknown option; there are .*${known}`));
  expect(() => make({ batching: false })).toThrow(
    expect.objectContaining({ code: 'ERR_OPTION', field: 'batching', message }),
  );
});
