import type { Alert } from '../alert.js';

/** One alert on its way to one sink. */
export interface Message {
  /** Stays the same when the message is sent again. */
  readonly id: string;
  readonly alert: Alert;
  /** Who tells: host name and port of the gateway. */
  readonly instance: string;
}

/** What goes over the wire. */
export interface Payload {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function jsonPayload(value: unknown): Payload {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}
