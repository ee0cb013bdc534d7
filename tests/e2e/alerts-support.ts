import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type AlertClock, systemClock } from '../../packages/server/src/alerts/clock.js';
import { startUpstream } from './gateway-support.js';

export const SECRET: string = `whsec_${Buffer.from('a key of thirty-two random bytes').toString('base64')}`;

/** The parts of a webhook's body that tests look at. */
export interface Body {
  readonly type: string;
  readonly data: { readonly status: string; readonly key: string };
}

export interface Received {
  readonly atMs: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly origin: string;
  /** Every message in the order of arrival, answered or not. */
  readonly received: Received[];
}

/** Answers message number `n`, the first being 1. */
export type Answer = (response: ServerResponse, n: number) => void;

const ok: Answer = (response) => void response.end('ok');

/** A real receiver on 127.0.0.1. */
export async function startReceiver(answer: Answer = ok): Promise<Receiver> {
  const received: Received[] = [];
  const handle: RequestListener = (request, response) => {
    void text(request).then((body) => {
      received.push({ atMs: performance.now(), path: request.url ?? '', headers: request.headers, body });
      answer(response, received.length);
    });
  };
  const { origin } = await startUpstream(handle);
  return { origin, received };
}

export function bodiesOf({ received }: Receiver): readonly Body[] {
  return received.map(({ body }) => JSON.parse(body) as Body);
}

/** As a receiver of Standard Webhooks checks it. */
export function isSigned({ headers, body }: Received): boolean {
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const ageS = Date.now() / 1000 - Number(headers['webhook-timestamp']);
  const signature = createHmac('sha256', key).update(signed).digest('base64');
  return headers['webhook-signature'] === `v1,${signature}` && Math.abs(ageS) < 300;
}

/** A clock that runs `factor` times as fast as ours. */
export function fastClock(factor: number): AlertClock {
  const startMs = systemClock.nowMs();
  return {
    ...systemClock,
    nowMs: () => startMs + (systemClock.nowMs() - startMs) * factor,
    startTimer: (delayMs, run) => systemClock.startTimer(delayMs / factor, run),
  };
}
