import { type AlertKind, isoTime } from '../alert.js';
import { detailOf, summaryOf, targetOf, titleOf } from '../words.js';
import { jsonPayload, type Message, type Payload } from './message.js';

const NAMES: Readonly<Record<AlertKind, string>> = {
  'store.unavailable': 'ComportaStoreUnavailable',
  'store.misconfigured': 'ComportaStoreMisconfigured',
  'breaker.open': 'ComportaBreakerOpen',
};

/** `POST /api/v2/alerts`. The labels are the identity, so they are the same when it is resolved. */
export function alertmanagerPayload({ alert, instance }: Message): Payload {
  const { fact, startsAtMs, endsAtMs } = alert;
  const detail = detailOf(fact);
  return jsonPayload([
    {
      labels: {
        alertname: NAMES[fact.kind],
        severity: fact.severity,
        service: 'comporta',
        instance,
        [fact.kind === 'breaker.open' ? 'node' : 'policy']: targetOf(fact),
      },
      annotations: {
        summary: titleOf(alert),
        description: [summaryOf(alert), ...(detail === '' ? [] : [detail])].join(' '),
      },
      startsAt: isoTime(startsAtMs),
      ...(endsAtMs === undefined ? {} : { endsAt: isoTime(endsAtMs) }),
    } satisfies AlertmanagerAlert,
  ]);
}

interface AlertmanagerAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly endsAt?: string;
}

const PATH = '/api/v2/alerts';

/** The address of an Alertmanager, with the path of its API unless that is there already. */
export function alertmanagerUrl(base: string): string {
  const url = new URL(base);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith(PATH) ? path : `${path}${PATH}`;
  return url.href;
}

/** Older than this without news, Alertmanager takes an alert to be over; so firing ones are sent again. */
export const RESEND_EVERY_MS = 60_000;
