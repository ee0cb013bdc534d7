import type { MaybePromise } from '../stores/store.js';

/** An async function would add three ticks to every call that is a promise already. */
export function promised<T>(start: () => MaybePromise<T>): Promise<T> {
  try {
    const answer = start();
    return answer instanceof Promise ? answer : Promise.resolve(answer);
  } catch (error) {
    return Promise.reject(error);
  }
}
