/** One thing that the self-test looked at, in words for a person. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error';
  /** What was looked at, in one word. */
  readonly check: string;
  readonly message: string;
  /** What to do about it; `undefined` when there is nothing to do. */
  readonly fix: string | undefined;
}

export function ok(check: string, message: string): Finding {
  return { level: 'ok', check, message, fix: undefined };
}

export function warning(check: string, message: string, fix: string): Finding {
  return { level: 'warning', check, message, fix };
}

export function failure(check: string, message: string, fix: string): Finding {
  return { level: 'error', check, message, fix };
}

/** The user may decide but not look: not a fault. */
export function cannotTell(check: string, what: string, right: string): Finding {
  return warning(
    check,
    `cannot tell ${what}: the user lacks ${right}`,
    `grant ${right}, or look at the server yourself`,
  );
}

/** Findings of several nodes: what all say is said once, the rest with the node's address. */
export function mergeFindings(byNode: ReadonlyMap<string, readonly Finding[]>): Finding[] {
  if (byNode.size === 1) return [...byNode.values()].flat();
  const merged = new Map<string, { readonly finding: Finding; readonly addresses: string[] }>();
  for (const [address, findings] of byNode) {
    for (const finding of findings) {
      const name = JSON.stringify(finding);
      const same = merged.get(name) ?? { finding, addresses: [] };
      same.addresses.push(address);
      merged.set(name, same);
    }
  }
  const ordered = [...merged.values()].sort((a, b) => rankOf(byNode, a.finding) - rankOf(byNode, b.finding));
  return ordered.map(({ finding, addresses }) => {
    const who = addresses.length === byNode.size ? `${byNode.size} primaries` : addresses.join(', ');
    return { ...finding, message: `${who}: ${finding.message}` };
  });
}

/** Findings of one check stay together, in the order in which checks ran. */
function rankOf(byNode: ReadonlyMap<string, readonly Finding[]>, { check }: Finding): number {
  return [...new Set([...byNode.values()].flat().map((finding) => finding.check))].indexOf(check);
}
