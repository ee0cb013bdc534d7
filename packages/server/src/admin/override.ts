import { type Limiter, type Store, StoreError } from 'comporta';
import { within } from '../time.js';

/** Limits of a subject's own: those of a plan, or limits as a file writes them. */
export type StoredOverride = { readonly plan: string } | { readonly limits: readonly object[] };

/** No process writes such terms: the store tells what stands instead of deciding. */
const NOBODYS_TERMS = { expected: 'x', replaced: '' };
const LIMIT_MS = 1000;

/** The override that stands for a subject in the store; rejects when the store does not tell in time. */
export async function readOverride(
  store: Store,
  limiter: Limiter,
  subject: string,
): Promise<StoredOverride | undefined> {
  const { policy, limits } = limiter;
  const bound = store.bind({ policy, limits, haveTerms: true, isUncounted: true });
  const asked = Promise.resolve(bound.peek(subject, 1, undefined, NOBODYS_TERMS));
  const { terms = '' } = await within(LIMIT_MS, asked, 'no answer').catch((error: unknown) => {
    throw error instanceof StoreError ? error : new StoreError('timeout', `no answer within ${LIMIT_MS} ms`);
  });
  // What begins otherwise is a revision of the whole policy.
  return terms.startsWith('o') ? (JSON.parse(terms.slice(1)) as StoredOverride) : undefined;
}
