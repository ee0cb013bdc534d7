/** What Next's `redirect()` and `notFound()` throw says in its digest what it is answered with. */
const NEXT_DIGEST = /^NEXT_(?:REDIRECT;.*|HTTP_ERROR_FALLBACK);(\d{3});?$/;

/** The status that a framework answers a thrown error with, where the error says it; else 500. */
export function thrownStatus(error: unknown): number {
  const { status, digest } = (error ?? {}) as { readonly status?: unknown; readonly digest?: unknown };
  if (typeof status === 'number' && status >= 400 && status < 600) return status;
  const [, told = '500'] = NEXT_DIGEST.exec(typeof digest === 'string' ? digest : '') ?? [];
  return Number(told);
}
