import { fileURLToPath } from 'node:url';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';

/** Folder of the descriptions that are published with this package. */
const FOLDER = fileURLToPath(new URL('../../../proto', import.meta.url));
const FILES = ['envoy/service/ratelimit/v3/rls.proto', 'grpc/health/v1/health.proto'];

/** Full names of the services that are described. */
export const RATE_LIMIT_SERVICE = 'envoy.service.ratelimit.v3.RateLimitService';
const HEALTH_SERVICE = 'grpc.health.v1.Health';

export interface Protos {
  /** Everything, for reflection. */
  readonly all: PackageDefinition;
  /** Messages are bytes: they have a codec of their own. */
  readonly rateLimit: ServiceDefinition;
  readonly health: ServiceDefinition;
}

/** Reads the descriptions of the services. */
export function loadProtos(): Protos {
  const all = loadSync(FILES, { includeDirs: [FOLDER], keepCase: true, enums: String, defaults: true });
  const rateLimit = all[RATE_LIMIT_SERVICE] as ServiceDefinition;
  const raw = Object.entries(rateLimit).map(([name, method]) => [name, { ...method, ...BYTES }]);
  return { all, rateLimit: Object.fromEntries(raw), health: all[HEALTH_SERVICE] as ServiceDefinition };
}

const asIs = (bytes: Buffer): Buffer => bytes;
const BYTES = {
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
};
