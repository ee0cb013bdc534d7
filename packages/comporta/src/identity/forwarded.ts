/** More than this is not read: nobody has so many proxies, and the left part is the client's to choose. */
const LENGTH_MAX = 8192;
const ENTRIES_MAX = 32;

/** Stands for what lies beyond the caps; parses as no address, so it ends a walk. */
const BEYOND = '?';

const COMMA = 44;
const QUOTE = 34;
const BACKSLASH = 92;

/**
 * Entries of a forwarding header, rightmost first; empty ones are left out. With `quoted`, commas in
 * quoted strings do not separate. Reading from the right keeps what proxies appended readable,
 * whatever a client put before it.
 */
export function entriesFromRight(values: readonly string[], quoted: boolean): readonly string[] {
  const whole = values.length === 1 ? (values[0] as string) : values.join(',');
  const text = whole.length > LENGTH_MAX ? whole.slice(-LENGTH_MAX) : whole;
  const entries: string[] = [];
  let end = text.length;
  let inQuotes = false;
  for (let i = text.length - 1; i >= 0 && entries.length < ENTRIES_MAX; i--) {
    const code = text.charCodeAt(i);
    if (quoted && code === QUOTE && !isEscaped(text, i)) inQuotes = !inQuotes;
    if (code !== COMMA || inQuotes) continue;
    addEntry(entries, text.slice(i + 1, end));
    end = i;
  }
  const complete = text === whole && entries.length < ENTRIES_MAX;
  addEntry(entries, complete ? text.slice(0, end) : BEYOND);
  return entries;
}

function addEntry(entries: string[], text: string): void {
  const entry = text.trim();
  if (entry !== '') entries.push(entry);
}

function isEscaped(text: string, index: number): boolean {
  let i = index;
  while (i > 0 && text.charCodeAt(i - 1) === BACKSLASH) i--;
  return (index - i) % 2 === 1;
}

/** One `name=value` of a Forwarded element (RFC 7239); values of other makers' proxies need not be quoted. */
const PAIR = /\s*([!#$%&'*+.^`|~\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";,]+))\s*(?:;|$)/y;

/** The node that a Forwarded element was received from; `undefined` when malformed, repeated or missing. */
export function forNode(element: string): string | undefined {
  let node: string | undefined;
  let at = 0;
  while (at < element.length) {
    PAIR.lastIndex = at;
    const pair = PAIR.exec(element);
    if (pair === null) return undefined;
    at = PAIR.lastIndex;
    if (pair[1]?.toLowerCase() !== 'for') continue;
    if (node !== undefined) return undefined;
    node = pair[3] ?? pair[2]?.replace(/\\(.)/g, '$1');
  }
  return node;
}
