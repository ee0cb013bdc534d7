export type ServerKind = 'redis' | 'valkey';
export const kinds: readonly ServerKind[];
export function which(name: string): string | undefined;
export function findServers(): { readonly [kind in ServerKind]?: string };
export function serverVersion(path: string): string;
