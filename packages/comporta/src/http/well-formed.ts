/** A text that has a UTF-8: with U+FFFD in the place of surrogates that have no other half. */
export function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\ufffd');
}
