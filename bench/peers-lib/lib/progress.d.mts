export function progress(
  steps: readonly { readonly title: string; readonly seconds: number }[],
  options?: { readonly now?: () => number; readonly write?: (line: string) => void },
): (title: string) => void;
