import type { AlertsConfig } from '../config/types.js';
import { urlFault } from './addresses.js';
import { secretBytes } from './payloads/webhook.js';

type Report = (path: readonly (string | number)[], message: string, hint?: string) => void;

/** Faults of the `alerts` section that no single field shows. Messages repeat no secret and no address. */
export function checkAlerts(alerts: AlertsConfig | undefined, report: Report): void {
  alerts?.sinks.forEach((sink, i) => {
    const path = ['alerts', 'sinks', i, sink.kind];
    const fault = alerts.allowInsecure ? undefined : urlFault(sink.url);
    if (fault !== undefined) {
      report([...path, 'url'], fault, 'set alerts.allowInsecure: true if you trust the network in between');
    }
    if (sink.kind === 'webhook' && secretBytes(sink.secret) === undefined) {
      report(
        [...path, 'secret'],
        'expected whsec_ and the base64 form of 24 to 64 bytes (the value is not shown)',
        'make one with: echo "whsec_$(openssl rand -base64 32)"',
      );
    }
  });
}
