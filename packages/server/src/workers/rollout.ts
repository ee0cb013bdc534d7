/** Puts a text in force at one worker; resolves to what speaks against it, or to nothing. */
export type Apply = (worker: number, text: string) => Promise<string | undefined>;

/**
 * Puts a text in force at all workers or at none: where one refuses, the others get the old one back.
 * Resolves to why it is not in force.
 */
export async function rollOut(
  workers: readonly number[],
  texts: { readonly wanted: string; readonly old: string },
  apply: Apply,
): Promise<string | undefined> {
  const errors = await Promise.all(workers.map((worker) => apply(worker, texts.wanted)));
  const error = errors.find((each) => each !== undefined);
  if (error === undefined) return undefined;
  const taken = workers.filter((_, i) => errors[i] === undefined);
  await Promise.all(taken.map((worker) => apply(worker, texts.old)));
  return error;
}
