import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Resolve } from '../../packages/server/src/alerts/addresses.js';
import { systemClock } from '../../packages/server/src/alerts/clock.js';
import { Delivery } from '../../packages/server/src/alerts/delivery.js';
import { RETRY_DEFAULTS, type RetrySettings } from '../../packages/server/src/alerts/retry.js';
import { toSink } from '../../packages/server/src/alerts/sinks.js';
import { Transport } from '../../packages/server/src/alerts/transport.js';
import { messageOf } from '../unit/server-alerts/support.js';
import { isSigned, type Receiver, SECRET, startReceiver } from './alerts-support.js';
import { onCleanup, recordLog, until } from './gateway-support.js';

interface Running {
  readonly delivery: Delivery;
  readonly lines: readonly string[];
}

/** A webhook sink with short waits; its path stands for a secret. With `inside`, only public addresses will do. */
function deliver(origin: string, settings: Partial<RetrySettings> = {}, inside?: Resolve): Running {
  const { log, lines } = recordLog();
  const sink = toSink({ kind: 'webhook', url: `${origin}/hidden`, secret: SECRET }, 0);
  const transport = new Transport(inside === undefined, systemClock, inside);
  const times = { ...RETRY_DEFAULTS, firstWaitMs: 20, ...settings };
  const delivery = new Delivery({ sink, transport, settings: times, clock: systemClock, log });
  onCleanup(async () => {
    await delivery.close(0);
    expect(lines.join()).not.toMatch(/hidden|whsec/);
  });
  return { delivery, lines };
}

const arrived = ({ received }: Receiver, count: number): Promise<void> =>
  until(`${count} messages`, () => received.length >= count);

describe('a sink', () => {
  it('gets signed messages in their order', async () => {
    const receiver = await startReceiver();
    const { delivery, lines } = deliver(receiver.origin);
    for (const id of ['msg_1', 'msg_2', 'msg_3']) delivery.offer(messageOf({}, id));
    await arrived(receiver, 3);
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual(['msg_1', 'msg_2', 'msg_3']);
    expect(receiver.received.every(isSigned)).toBe(true);
    expect(receiver.received[0]?.path).toBe('/hidden');
    expect(lines).toEqual([]);
  });

  it('that fails gets the same message again, signed for its time', async () => {
    const receiver = await startReceiver((response, n) => void response.writeHead(n < 3 ? 500 : 204).end());
    const { delivery, lines } = deliver(receiver.origin, { firstWaitMs: 1200 });
    delivery.offer(messageOf());
    await arrived(receiver, 3);
    const { received } = receiver;
    expect(received.every(isSigned)).toBe(true);
    expect(new Set(received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`)).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size).toBeGreaterThan(1);
    await until('the line', () => lines.length === 2);
    expect(lines).toEqual([
      expect.stringMatching(/^warn .*trying again .*sinks\[0\]\.webhook.*status 500/),
      expect.stringMatching(/^info alerts are sent again/),
    ]);
  });

  it('that hangs is given up on in time, and tried again', async () => {
    const receiver = await startReceiver((response, n) => void (n > 1 && response.end()));
    const { delivery, lines } = deliver(receiver.origin, { timeoutMs: 300 });
    delivery.offer(messageOf());
    await arrived(receiver, 2);
    expect(lines[0]).toContain('no answer within 300 ms');
  });

  it('that answers and never ends its body has answered', async () => {
    const receiver = await startReceiver((response) => void response.writeHead(200).write('o'));
    const { delivery } = deliver(receiver.origin, { timeoutMs: 300 });
    for (const id of ['msg_1', 'msg_2']) delivery.offer(messageOf({}, id));
    await arrived(receiver, 2);
    await until('the end', () => !delivery.has('store.unavailable:per-client'));
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual(['msg_1', 'msg_2']);
    expect(delivery.dropped).toBe(0);
  });

  it('that redirects is not followed', async () => {
    const target = await startReceiver();
    const receiver = await startReceiver(
      (response) => void response.writeHead(307, { location: `${target.origin}/inside` }).end(),
    );
    const { delivery, lines } = deliver(receiver.origin);
    delivery.offer(messageOf());
    await until('the loss', () => delivery.dropped === 1);
    expect([receiver.received.length, target.received.length]).toEqual([1, 0]);
    expect(lines).toEqual([expect.stringMatching(/^error an alert was lost.*redirects are not followed/)]);
  });

  it('that asks for time gets it', async () => {
    const receiver = await startReceiver((response, n) => {
      response.writeHead(n === 1 ? 429 : 200, { 'retry-after': '1' }).end();
    });
    const { delivery } = deliver(receiver.origin);
    delivery.offer(messageOf());
    await arrived(receiver, 2);
    const [first, second] = receiver.received;
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990);
  });

  it('that is dead costs so many attempts and one line, and the next messages are counted', async () => {
    const receiver = await startReceiver((response) => void response.destroy());
    const { delivery, lines } = deliver(receiver.origin, { attemptsMax: 3, firstWaitMs: 1 });
    delivery.offer(messageOf({}, 'msg_1'));
    delivery.offer(messageOf({}, 'msg_2'));
    await until('both losses', () => delivery.dropped === 2);
    expect(receiver.received).toHaveLength(6);
    expect(lines).toEqual([expect.stringMatching(/^warn /), expect.stringMatching(/^error an alert was lost/)]);
  });

  it('that is full drops and counts', async () => {
    const receiver = await startReceiver(() => undefined);
    const { delivery } = deliver(receiver.origin, { queueMax: 5 });
    for (let i = 0; i < 20; i++) delivery.offer(messageOf({}, `msg_${i}`));
    await arrived(receiver, 1);
    expect(delivery.dropped).toBe(14);
  });

  it('whose name leads inside is not even connected to', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    onCleanup(() => listener.close());
    let connections = 0;
    listener.on('connection', (socket) => {
      connections++;
      socket.destroy();
    });
    const { port } = listener.address() as { port: number };
    // Public when the configuration was checked, and not any more.
    const rebound: Resolve = (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);
    for (const host of ['sink.example', 'localhost', '127.0.0.1', '[::ffff:127.0.0.1]']) {
      const { delivery, lines } = deliver(`https://${host}:${port}`, {}, rebound);
      delivery.offer(messageOf());
      await until('the loss', () => delivery.dropped === 1);
      expect(lines).toEqual([expect.stringContaining('ERR_PRIVATE_ADDRESS')]);
    }
    expect(connections).toBe(0);
  });

  it('gets what waits when the server stops, without further waits', async () => {
    const receiver = await startReceiver((response, n) => void response.writeHead(n === 1 ? 503 : 200).end());
    const { delivery, lines } = deliver(receiver.origin, { firstWaitMs: 60_000 });
    for (const id of ['msg_1', 'msg_2', 'msg_3']) delivery.offer(messageOf({}, id));
    await until('the failure', () => lines.length === 1);
    await delivery.close(2000);
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual(['msg_1', 'msg_1', 'msg_2', 'msg_3']);
  });

  it('that hangs holds up the stop no longer than it may', async () => {
    const receiver = await startReceiver(() => undefined);
    const { delivery } = deliver(receiver.origin);
    for (const id of ['msg_1', 'msg_2']) delivery.offer(messageOf({}, id));
    await arrived(receiver, 1);
    const startedMs = performance.now();
    await delivery.close(500);
    expect(performance.now() - startedMs).toBeLessThan(1500);
    expect(delivery.dropped).toBe(2);
  });
});
