export function short(number: number): string;
export function range(spread: { readonly median: number; readonly min: number; readonly max: number }): string;
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string;
