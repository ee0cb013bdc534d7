import { createHmac, randomBytes } from 'node:crypto';

/** Variable in which a worker finds the key that it shares with the others. */
export const KEY_VARIABLE = 'COMPORTA_WORKER_KEY';

const shared = process.env[KEY_VARIABLE];
// Nothing that a worker starts should see it.
delete process.env[KEY_VARIABLE];

/** This process was started to serve together with others. */
export const isWorker: boolean = shared !== undefined;

/** A key for hashes of one kind. New for each caller, but the same in all workers of a server. */
export function hashKey(use: string): Buffer {
  return shared === undefined ? randomBytes(32) : createHmac('sha256', shared).update(use).digest();
}
