import type { SinkConfig } from '../config/types.js';
import { alertmanagerPayload, alertmanagerUrl, RESEND_EVERY_MS } from './payloads/alertmanager.js';
import type { Message, Payload } from './payloads/message.js';
import { pagerdutyPayload } from './payloads/pagerduty.js';
import { slackPayload } from './payloads/slack.js';
import { secretBytes, webhookPayload } from './payloads/webhook.js';

/** Where alerts go, and in what form. */
export interface Sink {
  /** Its place in the file, for logs: the address may be a secret. */
  readonly name: string;
  readonly url: string;
  /** Alerts that are still on are sent again this often. */
  readonly resendEveryMs: number | undefined;
  build(message: Message, nowMs: number): Payload;
}

export function toSink(config: SinkConfig, index: number): Sink {
  const common = { name: `alerts.sinks[${index}].${config.kind}`, url: config.url, resendEveryMs: undefined };
  switch (config.kind) {
    case 'webhook': {
      const secret = secretBytes(config.secret) ?? Buffer.alloc(0);
      return { ...common, build: (message, nowMs) => webhookPayload(message, secret, nowMs) };
    }
    case 'slack':
      return { ...common, build: slackPayload };
    case 'pagerduty':
      return { ...common, build: (message) => pagerdutyPayload(message, config.routingKey) };
    case 'alertmanager':
      return {
        ...common,
        url: alertmanagerUrl(config.url),
        resendEveryMs: RESEND_EVERY_MS,
        build: alertmanagerPayload,
      };
  }
}
