import { createHmac } from 'node:crypto';
import { isoTime } from '../alert.js';
import { detailOf, keyText, summaryOf, targetOf, titleOf } from '../words.js';
import { jsonPayload, type Message, type Payload } from './message.js';

const PREFIX = 'whsec_';
const BYTES_MIN = 24;
const BYTES_MAX = 64;

/** Key bytes of a Standard Webhooks secret (`whsec_` and base64), or `undefined` when it is none. */
export function secretBytes(secret: string): Buffer | undefined {
  const text = secret.slice(PREFIX.length);
  if (!secret.startsWith(PREFIX) || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const isWhole = bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
  return isWhole && bytes.length >= BYTES_MIN && bytes.length <= BYTES_MAX ? bytes : undefined;
}

/** Standard Webhooks 1.0. Sent again, it has the same id and body and a new time and signature. */
export function webhookPayload(message: Message, secret: Buffer, nowMs: number): Payload {
  const { headers, body } = jsonPayload(bodyOf(message));
  const timestamp = String(Math.floor(nowMs / 1000));
  const signature = createHmac('sha256', secret).update(`${message.id}.${timestamp}.${body}`).digest('base64');
  const signed = { 'webhook-id': message.id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
  return { headers: { ...headers, ...signed }, body };
}

function bodyOf({ alert, instance }: Message): object {
  const { fact, status, startsAtMs, endsAtMs } = alert;
  const { kind, severity, mode, cause } = fact;
  return {
    type: `comporta.${kind}`,
    timestamp: isoTime(endsAtMs ?? startsAtMs),
    data: {
      status,
      key: keyText(fact),
      severity,
      instance,
      [kind === 'breaker.open' ? 'node' : 'policy']: targetOf(fact),
      title: titleOf(alert),
      summary: summaryOf(alert),
      mode,
      cause,
      detail: detailOf(fact) || undefined,
      startsAt: isoTime(startsAtMs),
      endsAt: endsAtMs === undefined ? undefined : isoTime(endsAtMs),
    },
  };
}
