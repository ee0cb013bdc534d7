import { z } from 'zod';
import { duration, secretText } from '../config/fields.js';
import { NO_KIND } from '../config/limits.js';
import type { AlertsConfig, SinkConfig } from '../config/types.js';

const DAY_MS = 86_400_000;
const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';

function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^\s]+$/.test(text) && URL.canParse(text);
}

const url = secretText(isHttpUrl, 'an address that starts with https://');

const sinks = {
  webhook: z
    .strictObject({
      url: url.describe('Address that takes the messages.'),
      secret: secretText((text) => text.length > 0, 'text').describe(
        'Key of the signature: `whsec_` and the base64 form of 24 to 64 random bytes.',
      ),
    })
    .describe('Signed JSON as in Standard Webhooks 1.0.'),
  slack: z
    .strictObject({ url: url.describe('Address of an incoming webhook of Slack.') })
    .describe('A message in a channel of Slack.'),
  pagerduty: z
    .strictObject({
      routingKey: secretText((text) => /^\S{1,255}$/.test(text), 'text without spaces').describe(
        'Integration key of the service.',
      ),
      url: url.prefault(PAGERDUTY_URL).describe('Address of the Events API v2.'),
    })
    .describe('An incident that opens and resolves by itself.'),
  alertmanager: z
    .strictObject({ url: url.describe('Address of the Alertmanager; `/api/v2/alerts` is added.') })
    .describe("Alerts of Prometheus' Alertmanager, sent again every minute while they are on."),
} satisfies Readonly<Record<SinkConfig['kind'], z.ZodType>>;

const sinkSchema: z.ZodType<SinkConfig> = z
  .strictObject({
    webhook: sinks.webhook.optional(),
    slack: sinks.slack.optional(),
    pagerduty: sinks.pagerduty.optional(),
    alertmanager: sinks.alertmanager.optional(),
  })
  .transform((value, context): SinkConfig => {
    const { webhook, slack, pagerduty, alertmanager } = value;
    const given = [
      ...(webhook === undefined ? [] : [{ kind: 'webhook' as const, ...webhook }]),
      ...(slack === undefined ? [] : [{ kind: 'slack' as const, ...slack }]),
      ...(pagerduty === undefined ? [] : [{ kind: 'pagerduty' as const, ...pagerduty }]),
      ...(alertmanager === undefined ? [] : [{ kind: 'alertmanager' as const, ...alertmanager }]),
    ];
    const [sink] = given;
    if (sink !== undefined && given.length === 1) return sink;
    const known = Object.keys(sinks).join(', ');
    const message =
      sink === undefined
        ? `${NO_KIND} ${known}`
        : `expected one sink per entry, got ${given.map(({ kind }) => kind).join(' and ')}`;
    context.issues.push({ code: 'custom', message, input: value });
    return z.NEVER;
  });

/** The `alerts` section. What depends on other fields is checked in `check.ts`. */
export const alertsSchema: z.ZodType<AlertsConfig> = z.strictObject({
  cooldown: duration(0, DAY_MS)
    .prefault('5m')
    .describe('The same alert is sent again after this time at the earliest.'),
  allowInsecure: z
    .boolean()
    .default(false)
    .describe('Allow `http://` and addresses in private networks or on this machine.'),
  sinks: z.array(sinkSchema).min(1).max(20).describe('Where alerts go, 1 to 20. All of them get every alert.'),
});
