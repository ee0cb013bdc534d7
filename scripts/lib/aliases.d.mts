export const root: string;
export function sourceAliases(): Readonly<Record<string, string>>;
