/** Variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A text with its variables filled in, or what stands in the way. */
export type Expansion = { readonly text: string } | { readonly fault: string; readonly hint: string };

const REFERENCE: RegExp = /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

/** Fills in `${NAME}` and `${NAME:-default}`; `$$` stands for one dollar sign. */
export function expand(text: string, environment: Environment): Expansion {
  let fault: Expansion | undefined;
  const filled = text.replace(REFERENCE, (found: string, name?: string, fallback?: string) => {
    if (found === '$$') return '$';
    if (name === undefined) {
      fault ??= {
        fault: 'a "${" that names no variable',
        hint: `write $\{NAME}, $\{NAME:-default}, or $$ for a dollar sign`,
      };
      return found;
    }
    const value = environment[name];
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) {
      fault ??= {
        fault: `the environment variable ${name} is not set`,
        hint: `set it, or give a default: \${${name}:-value}`,
      };
    }
    return value ?? '';
  });
  return fault ?? { text: filled };
}

/** What an expanded text means when it stood without quotes: a whole number, true, false, or itself. */
export function plainValue(text: string): string | number | boolean {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  return text === 'true' || text === 'false' ? text === 'true' : text;
}
