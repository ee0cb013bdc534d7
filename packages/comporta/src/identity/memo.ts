/** Remembers the latest results of a pure function of a text; at most `max`, oldest out first. */
export function memo<T>(max: number, compute: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined || known.has(text)) return found as T;
    if (known.size >= max) known.delete(known.keys().next().value as string);
    const result = compute(text);
    known.set(text, result);
    return result;
  };
}
