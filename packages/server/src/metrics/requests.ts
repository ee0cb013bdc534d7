import type { Served } from '../gateway/observer.js';
import { Labels } from './labels.js';
import type { Registry } from './registry.js';

/** Counts the requests of a door by route template and class of status. */
export function measureRequests(
  registry: Registry,
  door: string,
): (served: Pick<Served, 'route' | 'status' | 'durationMs'>) => void {
  const requests = registry.createCounter(`comporta.${door}.requests`, {
    unit: '{request}',
    description: `Requests to the ${door} by route and class of status; aborted when the client went away first.`,
  });
  const duration = registry.createHistogram(`comporta.${door}.request.duration`, {
    unit: 's',
    description: `From the headers of a request to the ${door} to the end of its answer; tunnels left out.`,
  });
  const labels = new Labels((route, status) => ({
    'comporta.route': route,
    ...(status !== '' && { 'comporta.status': status }),
  }));
  return ({ route, status, durationMs }) => {
    requests.add(1, labels.of(route, statusClass(status)));
    if (status !== 101) duration.record(durationMs / 1000, labels.of(route, ''));
  };
}

/** `2xx`; `aborted` where no status was sent. */
function statusClass(status: number): string {
  return status === 0 ? 'aborted' : `${Math.floor(status / 100)}xx`;
}
