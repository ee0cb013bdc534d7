export const ENVOY_VERSION: string;
export const envoyFolder: string;
export function findEnvoy(): string | undefined;
