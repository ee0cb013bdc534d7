import { createHash } from 'node:crypto';
import { isoTime } from '../alert.js';
import { detailOf, keyText, summaryOf, titleOf } from '../words.js';
import { jsonPayload, type Message, type Payload } from './message.js';

const SUMMARY_MAX_CHARS = 1024;
const DEDUP_MAX_CHARS = 255;

/** Events API v2: `trigger` opens an incident, `resolve` with the same key ends it. */
export function pagerdutyPayload(message: Message, routingKey: string): Payload {
  const { alert, instance } = message;
  const { fact, status, startsAtMs } = alert;
  const event = { routing_key: routingKey, dedup_key: dedupKey(message) };
  if (status === 'resolved') return jsonPayload({ ...event, event_action: 'resolve' });
  return jsonPayload({
    ...event,
    event_action: 'trigger',
    client: 'comporta',
    payload: {
      summary: `${titleOf(alert)}. ${summaryOf(alert)}`.slice(0, SUMMARY_MAX_CHARS),
      source: instance,
      severity: fact.severity,
      timestamp: isoTime(startsAtMs),
      component: 'comporta',
      class: fact.kind,
      custom_details: { key: keyText(fact), mode: fact.mode, cause: fact.cause, detail: detailOf(fact) || undefined },
    },
  });
}

/** One incident per process and key: a process must not end what another still suffers from. */
function dedupKey({ alert, instance }: Message): string {
  const key = `comporta/${instance}/${alert.key}`;
  return key.length <= DEDUP_MAX_CHARS ? key : `comporta/${createHash('sha256').update(key).digest('hex')}`;
}
