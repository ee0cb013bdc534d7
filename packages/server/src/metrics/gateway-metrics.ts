import type { GatewayObserver } from '../gateway/observer.js';
import { boundedCause } from '../gateway/upstream-log.js';
import { Labels } from './labels.js';
import type { Registry } from './registry.js';
import { measureRequests } from './requests.js';

/** Requests to the gateway, and how its upstreams do. */
export function measureGateway(registry: Registry): GatewayObserver {
  const served = measureRequests(registry, 'gateway');
  const answers = registry.createHistogram('comporta.gateway.upstream.duration', {
    unit: 's',
    description: "Wait for the headers of an upstream's answer.",
  });
  const failures = registry.createCounter('comporta.gateway.upstream.failures', {
    unit: '{failure}',
    description: 'Requests that an upstream did not answer, or not to the end.',
  });
  const labels = new Labels((upstream, cause) => ({
    'comporta.upstream': upstream,
    ...(cause !== '' && { 'comporta.cause': cause }),
  }));
  return {
    served,
    answered: (upstream, durationMs) => answers.record(durationMs / 1000, labels.of(upstream, '')),
    failed: (upstream, cause) => failures.add(1, labels.of(upstream, boundedCause(cause))),
  };
}
