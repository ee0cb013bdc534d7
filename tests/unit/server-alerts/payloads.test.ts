import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { alertmanagerPayload, alertmanagerUrl } from '../../../packages/server/src/alerts/payloads/alertmanager.js';
import { pagerdutyPayload } from '../../../packages/server/src/alerts/payloads/pagerduty.js';
import { slackPayload } from '../../../packages/server/src/alerts/payloads/slack.js';
import { secretBytes, webhookPayload } from '../../../packages/server/src/alerts/payloads/webhook.js';
import { factOf, messageOf, resolved } from './support.js';

const secret = Buffer.from('0123456789abcdef0123456789abcdef');
const NASTY = factOf({
  kind: 'breaker.open',
  target: `\u0000${'é'.repeat(20_000)}\ud800`,
  detail: `redis://user:hunter2@host <!channel> \n ${'\ud83d\ude00'.repeat(20_000)}`,
});

describe('the webhook', () => {
  it('says what is wrong', () => {
    const { body } = webhookPayload(messageOf(), secret, 0);
    expect(JSON.parse(body)).toEqual({
      type: 'comporta.store.unavailable',
      timestamp: '2023-11-14T22:13:20.000Z',
      data: {
        status: 'firing',
        key: 'store.unavailable:per-client',
        severity: 'error',
        instance: 'host-1:8080',
        policy: 'per-client',
        title: 'Store unavailable for policy per-client',
        summary: 'The store does not answer in time. Meanwhile this process counts by itself.',
        mode: 'local',
        cause: 'timeout',
        detail: 'no answer within 50 ms',
        startsAt: '2023-11-14T22:13:20.000Z',
      },
    });
  });

  it('says when it is over', () => {
    const { type, timestamp, data } = JSON.parse(webhookPayload(messageOf(resolved), secret, 0).body);
    expect([type, timestamp]).toEqual(['comporta.store.unavailable', '2023-11-14T22:14:20.000Z']);
    expect(data).toMatchObject({ status: 'resolved', endsAt: timestamp, title: expect.stringContaining('again') });
  });

  it('is signed anew each time, with the same id and body', () => {
    const [first, second] = [1_000_000, 2_000_000].map((nowMs) => webhookPayload(messageOf(), secret, nowMs));
    expect(second?.body).toBe(first?.body);
    const signature = createHmac('sha256', secret).update(`msg_1.2000.${second?.body}`).digest('base64');
    expect(second?.headers).toEqual({
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-timestamp': '2000',
      'webhook-signature': `v1,${signature}`,
    });
    expect(first?.headers['webhook-signature']).not.toBe(second?.headers['webhook-signature']);
  });

  it('agrees with the example of the standard', () => {
    const key = secretBytes('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    const text = 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}';
    const signature = createHmac('sha256', key ?? '')
      .update(text)
      .digest('base64');
    expect(signature).toBe('g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it.each([
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 24],
    [`whsec_${Buffer.alloc(64, 1).toString('base64')}`, 64],
    [`whsec_${Buffer.alloc(32, 1).toString('base64').replace('=', '')}`, 32],
    [`whsec_${Buffer.alloc(23, 1).toString('base64')}`, undefined],
    [`whsec_${Buffer.alloc(65, 1).toString('base64')}`, undefined],
    ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', undefined],
    ['whsec_not base64 at all, but long enough', undefined],
    ['whsec_', undefined],
  ])('takes the secret %j or not', (text, length) => {
    expect(secretBytes(text)?.length).toBe(length);
  });
});

describe('Slack', () => {
  it('gets a text and blocks', () => {
    expect(JSON.parse(slackPayload(messageOf()).body)).toEqual({
      text: '[ERROR] Store unavailable for policy per-client',
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: '[ERROR] Store unavailable for policy per-client' } },
        {
          type: 'section',
          text: {
            type: 'mrkdwn',
            text: [
              'The store does not answer in time. Meanwhile this process counts by itself.',
              '*Detail:* no answer within 50 ms',
              '*From:* host-1:8080',
            ].join('\n'),
          },
        },
      ],
    });
    expect(JSON.parse(slackPayload(messageOf(resolved)).body).text).toMatch(/^\[RESOLVED\]/);
  });

  it('gets no markup from outside, and no more than it takes', () => {
    const { text, blocks } = JSON.parse(slackPayload(messageOf({ fact: NASTY })).body);
    expect(blocks[0].text.text.length).toBeLessThanOrEqual(150);
    expect(blocks[1].text.text.length).toBeLessThanOrEqual(3000);
    expect(`${text}${blocks[1].text.text}`).not.toMatch(/<|\0/);
  });
});

describe('PagerDuty', () => {
  it('opens an incident and resolves the same', () => {
    const trigger = JSON.parse(pagerdutyPayload(messageOf(), 'KEY').body);
    expect(trigger).toMatchObject({
      routing_key: 'KEY',
      event_action: 'trigger',
      dedup_key: 'comporta/host-1:8080/store.unavailable:per-client',
      payload: {
        summary: expect.stringContaining('per-client'),
        source: 'host-1:8080',
        severity: 'error',
        timestamp: '2023-11-14T22:13:20.000Z',
        component: 'comporta',
        custom_details: { cause: 'timeout' },
      },
    });
    const { dedup_key } = trigger;
    const resolve = { routing_key: 'KEY', event_action: 'resolve', dedup_key };
    expect(JSON.parse(pagerdutyPayload(messageOf(resolved), 'KEY').body)).toEqual(resolve);
  });

  it('gets no more than it takes', () => {
    const { dedup_key, payload } = JSON.parse(pagerdutyPayload(messageOf({ fact: NASTY }), 'KEY').body);
    expect(dedup_key.length).toBeLessThanOrEqual(255);
    expect(payload.summary.length).toBeLessThanOrEqual(1024);
  });
});

describe('Alertmanager', () => {
  it('gets the same labels when it begins and when it is over', () => {
    const [firing] = JSON.parse(alertmanagerPayload(messageOf()).body);
    expect(firing).toEqual({
      labels: {
        alertname: 'ComportaStoreUnavailable',
        severity: 'error',
        service: 'comporta',
        instance: 'host-1:8080',
        policy: 'per-client',
      },
      annotations: { summary: 'Store unavailable for policy per-client', description: expect.any(String) },
      startsAt: '2023-11-14T22:13:20.000Z',
    });
    const [over] = JSON.parse(alertmanagerPayload(messageOf(resolved)).body);
    expect(over.labels).toEqual(firing.labels);
    expect(over).toMatchObject({ startsAt: firing.startsAt, endsAt: '2023-11-14T22:14:20.000Z' });
  });

  it.each([
    ['https://am', 'https://am/api/v2/alerts'],
    ['https://am/prefix/', 'https://am/prefix/api/v2/alerts'],
    ['https://am/api/v2/alerts', 'https://am/api/v2/alerts'],
  ])('is found at %s', (base, url) => {
    expect(alertmanagerUrl(base)).toBe(url);
  });
});

it.each([
  ['webhook', webhookPayload(messageOf({ fact: NASTY }), secret, 0)],
  ['slack', slackPayload(messageOf({ fact: NASTY }))],
  ['pagerduty', pagerdutyPayload(messageOf({ fact: NASTY }), 'KEY')],
  ['alertmanager', alertmanagerPayload(messageOf({ fact: NASTY }))],
])('a payload for %s is small, whatever is in it, and holds no credentials', (_, { body }) => {
  expect(Buffer.byteLength(body)).toBeLessThan(20_000);
  expect(body).not.toContain('hunter2');
  expect(() => JSON.parse(body)).not.toThrow();
});
