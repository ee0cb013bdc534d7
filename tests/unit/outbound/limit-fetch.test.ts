import { type Limit, memoryStore, slidingWindow, tokenBucket } from 'comporta';
import { type Fetch, type LimitedEvent, type LimitFetchOptions, limitFetch } from 'comporta/outbound';
import { describe, expect, test } from 'vitest';
import { wire } from '../../../packages/comporta/src/limiter/create.js';
import { wireFetch } from '../../../packages/comporta/src/outbound/limit-fetch.js';
import { FakeClock } from '../../support/fake-clock.js';

const URL_A = 'https://a.example/things';
const ample = tokenBucket({ capacity: 1000, refill: 1000, every: '1s' });

type Answer = () => Response | Promise<Response>;
const ok: Answer = () => new Response('fine');
const refusal = (headers: Record<string, string> = {}, status = 429): Answer => {
  return () => new Response('too much', { status, headers });
};

/** A third party that gives its answers in order, the last one for ever. */
function thirdParty(answers: readonly Answer[], options: Partial<LimitFetchOptions> = {}, limits: Limit = ample) {
  const clock = new FakeClock();
  const startMs = clock.nowUs() / 1000;
  const limiter = wire({ policy: 'out', limits }, clock);
  const sent: { readonly atMs: number; readonly url: string; readonly body: unknown }[] = [];
  const events: LimitedEvent[] = [];
  const fetch: Fetch = async (input, init) => {
    const url = typeof input === 'object' && 'url' in input ? input.url : String(input);
    sent.push({ atMs: clock.nowUs() / 1000 - startMs, url, body: init?.body });
    const answer = answers[Math.min(sent.length, answers.length) - 1] ?? ok;
    return answer();
  };
  const limited = wireFetch(fetch, { limiter, onLimited: (event) => events.push(event), ...options }, clock);
  return { clock, limiter, limited, sent, events };
}

/** Lets time pass until a call has ended. */
async function settled<T>(clock: FakeClock, call: Promise<T>, ms = 60_000): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  call.then(end, end);
  for (let passed = 0; !isOver && passed <= ms; passed += 50) await clock.pass(50);
  return call;
}

describe('a request under the limit', () => {
  test('is sent as it is, and the answer is the very object that came', async () => {
    const answer = new Response('fine');
    const { limited, sent, events } = thirdParty([() => answer]);
    expect(await limited(URL_A, { method: 'POST', body: 'text' })).toBe(answer);
    expect(sent).toEqual([{ atMs: 0, url: URL_A, body: 'text' }]);
    expect(events).toEqual([]);
  });

  test('waits for its turn, by host unless the subject says otherwise', async () => {
    const { clock, limited, sent } = thirdParty([ok], {}, tokenBucket({ capacity: 1, refill: 1, every: '1s' }));
    const all = [1, 2, 3].map((n) => limited(`${URL_A}/${n}`));
    all.push(limited(new URL('https://b.example/')), limited(new Request('https://b.example:8443/')));
    await settled(clock, Promise.all(all));
    expect(sent.map(({ atMs, url }) => [atMs, url])).toEqual([
      [0, `${URL_A}/1`],
      [0, 'https://b.example/'],
      [0, 'https://b.example:8443/'],
      [1000, `${URL_A}/2`],
      [2000, `${URL_A}/3`],
    ]);
  });

  test('is counted for whom the subject function says, at the cost that the cost function says', async () => {
    const { limited, limiter } = thirdParty([ok], {
      subject: ({ url, headers }) => `${url.host} ${headers.get('authorization')}`,
      cost: ({ method }) => (method === 'POST' ? 5 : 1),
    });
    await limited(URL_A, { headers: { Authorization: 'key-1' }, method: 'post' });
    await limited(new Request(URL_A, { headers: { Authorization: 'key-1' } }));
    expect((await limiter.peek('a.example key-1')).binding?.remaining).toBe(994);
  });
});

describe('a request whose turn cannot come in time', () => {
  test('is not sent: the answer is a 429 made here that says when', async () => {
    const { limited, sent, events } = thirdParty([ok], { maxWaitMs: 0 }, slidingWindow({ limit: 1, window: '90s' }));
    await limited(URL_A);
    const answer = await limited(URL_A);
    expect([answer.status, answer.headers.get('retry-after'), answer.url]).toEqual([429, '90', '']);
    expect(await answer.json()).toMatchObject({ title: 'Not sent', status: 429, reason: 'limit-exceeded' });
    expect(sent.length).toBe(1);
    const event = { subject: 'a.example', by: 'limiter', status: 429, retryAfterMs: 90_000, willRetry: false };
    expect(events).toEqual([event]);
  });

  test('of a cost that never fits has no Retry-After', async () => {
    const { limited } = thirdParty([ok], { cost: 2 }, slidingWindow({ limit: 1, window: '1s' }));
    expect((await limited(URL_A)).headers.get('retry-after')).toBeNull();
  });

  test('rejects with the reason of its signal when that aborts, as fetch does', async () => {
    const { clock, limited, sent } = thirdParty([refusal({ 'retry-after': '20' })]);
    const [leaving, reason] = [new AbortController(), new Error('enough')];
    const call = limited(URL_A, { signal: leaving.signal });
    await clock.pass(5000);
    leaving.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect([sent.length, clock.timers]).toEqual([1, 0]);
  });
});

describe('a refusal by the third party', () => {
  test.each([
    [{ 'retry-after': '20' }, 429, 20_000],
    [{ 'retry-after': '2' }, 503, 2000],
    [{ ratelimit: '"policy";r=0;t=10' }, 429, 10_000],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '5' }, 403, 5000],
  ])('%j with status %i is sent again after its time, not before', async (headers, status, waitMs) => {
    const { clock, limited, sent, events } = thirdParty([refusal(headers, status), ok]);
    const answer = await settled(clock, limited(URL_A));
    expect(await answer.text()).toBe('fine');
    expect(sent.length).toBe(2);
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(waitMs);
    expect(sent[1]?.atMs).toBeLessThanOrEqual(waitMs + Math.min(1000, waitMs / 10) + 1);
    const event = { subject: 'a.example', by: 'server', status, retryAfterMs: waitMs, willRetry: true };
    expect(events).toEqual([event]);
  });

  test('without a time is sent again later each time, twice, then it is the answer', async () => {
    const { clock, limited, sent, events } = thirdParty([refusal()]);
    const answer = await settled(clock, limited(URL_A));
    expect([answer.status, await answer.text()]).toEqual([429, 'too much']);
    const [first = 0, second = 0, third = 0, ...more] = sent.map(({ atMs }) => atMs);
    expect(more).toEqual([]);
    expect(second - first).toBeGreaterThanOrEqual(500);
    expect(second - first).toBeLessThanOrEqual(1001);
    expect(third - second).toBeGreaterThanOrEqual(1000);
    expect(third - second).toBeLessThanOrEqual(2001);
    expect(events.map(({ willRetry }) => willRetry)).toEqual([true, true, false]);
  });

  test('that asks for more time than there is, is the answer at once, body untouched', async () => {
    const { limited, sent } = thirdParty([refusal({ 'retry-after': '31' })]);
    const answer = await limited(URL_A);
    expect([answer.status, await answer.text(), sent.length]).toEqual([429, 'too much', 1]);
  });

  test('keeps back all requests of its subject, and no others, until its time is over', async () => {
    const { clock, limited, sent } = thirdParty([refusal({ 'retry-after': '10' }), ok]);
    const all = [limited(URL_A)];
    await clock.pass(0);
    all.push(limited(`${URL_A}/2`), limited('https://b.example/'));
    await settled(clock, Promise.all(all));
    const [first, ...others] = sent.filter(({ url }) => url.startsWith(URL_A));
    expect(first?.atMs).toBe(0);
    for (const { atMs } of others) expect(atMs).toBeGreaterThanOrEqual(10_000);
    for (const { url, atMs } of sent) if (url.startsWith('https://b')) expect(atMs).toBe(0);
  });

  test('is refused here for those who cannot wait so long', async () => {
    const { clock, limited, sent } = thirdParty([refusal({ 'retry-after': '600' })]);
    await limited(URL_A);
    const answer = await limited(URL_A);
    expect(await answer.json()).toMatchObject({ title: 'Not sent', reason: 'paused' });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(600);
    expect([sent.length, clock.timers]).toEqual([1, 0]);
  });

  test('that names a time beyond all sense pauses for maxPauseMs only', async () => {
    const { clock, limited, sent } = thirdParty([refusal({ 'retry-after': '999999999' }), ok], { maxPauseMs: 5000 });
    expect((await limited(URL_A)).status).toBe(429);
    await settled(clock, limited(URL_A));
    expect(sent[1]?.atMs).toBeLessThanOrEqual(5501);
  });

  test('takes the rest of a limit whose window fits into the pause, for the other processes to see', async () => {
    const short = slidingWindow({ limit: 100, window: '10s' });
    const paused = thirdParty([refusal({ 'retry-after': '10' })], { retries: 0 }, short);
    await paused.limited(URL_A);
    await paused.clock.pass(0);
    expect((await paused.limiter.peek('a.example')).retryAfterMs).toBe(10_000);
    const long = thirdParty([refusal({ 'retry-after': '5' })], { retries: 0 }, short);
    await long.limited(URL_A);
    await long.clock.pass(0);
    expect((await long.limiter.peek('a.example')).binding?.remaining).toBe(99);
  });
});

describe('with blocks, a pause holds in all processes that share the store', () => {
  /** Two processes, each with a limiter of its own on one store; the first is refused once. */
  function fleet() {
    const clock = new FakeClock();
    const store = memoryStore({ clock });
    const sent: { readonly who: string; readonly atMs: number }[] = [];
    const onSend: (() => Promise<void>)[] = [];
    const startMs = clock.nowUs() / 1000;
    const make = (who: string, headers: Record<string, string>) => {
      const limiter = wire({ policy: 'out', limits: ample, store, blocks: true }, clock);
      const fetch: Fetch = async () => {
        sent.push({ who, atMs: clock.nowUs() / 1000 - startMs });
        await onSend.pop()?.();
        return sent.length === 1 ? refusal(headers)() : ok();
      };
      return { limiter, limited: wireFetch(fetch, { limiter }, clock) };
    };
    return { clock, sent, make, onSend };
  }

  test('the others wait for its end as if they had been refused themselves', async () => {
    const { clock, sent, make } = fleet();
    const [one, two] = [make('one', { 'retry-after': '10' }), make('two', {})];
    const first = one.limited(URL_A);
    await clock.pass(10);
    const second = two.limited(URL_A);
    const answers = await settled(clock, Promise.all([first, second]));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(sent.length).toBe(3);
    for (const { atMs } of sent.slice(1)) {
      expect(atMs).toBeGreaterThanOrEqual(10_000);
      expect(atMs).toBeLessThanOrEqual(11_100);
    }
  });

  test('a longer block that somebody else has set is not cut short', async () => {
    const { clock, make, sent, onSend } = fleet();
    const { limiter, limited } = make('one', { 'retry-after': '10' });
    onSend.push(() => limiter.block('a.example', '20s'));
    await settled(clock, limited(URL_A));
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(20_000);
  });
});

test('an answer that says that nothing is left keeps the next request back', async () => {
  const last: Answer = () => new Response('last', { headers: { ratelimit: '"policy";r=0;t=7' } });
  const { clock, limited, sent, events } = thirdParty([last, ok]);
  expect(await (await limited(URL_A)).text()).toBe('last');
  await settled(clock, limited(URL_A));
  expect(sent[1]?.atMs).toBeGreaterThanOrEqual(7000);
  expect(events).toEqual([]);
});

test('one that says so for a second or less does not: such times are rounded up', async () => {
  const low: Answer = () => new Response('low', { headers: { ratelimit: '"policy";r=0;t=1' } });
  const { limited, sent } = thirdParty([low]);
  for (let i = 0; i < 3; i++) await limited(URL_A);
  expect(sent.map(({ atMs }) => atMs)).toEqual([0, 0, 0]);
});

test('a pause keeps the order of those that waited before it and of those that come in it', async () => {
  const slow = tokenBucket({ capacity: 1, refill: 1, every: '1s' });
  const { clock, limited, sent, limiter } = thirdParty([ok, refusal({ 'retry-after': '10' }), ok], {}, slow);
  const send = (n: number) => limited(`${URL_A}/${n}`);
  const all = [1, 2, 3, 4, 5].map(send);
  await clock.pass(1500);
  all.push(send(6));
  await clock.pass(1000);
  expect(clock.timers).toBe(1);
  all.push(send(7));
  await settled(clock, Promise.all(all));
  const names = sent.map(({ url }) => url.slice(-1)).join('');
  // The second was refused: whoever was refused goes again where it is in order of coming to the pause.
  expect(names.startsWith('12')).toBe(true);
  expect(names.slice(2).replace('2', '')).toBe('34567');
  for (const { atMs } of sent.slice(2)) expect(atMs).toBeGreaterThanOrEqual(11_000);
  expect((await limiter.peek('a.example')).allowed).toBe(false);
});

test('who is admitted at the very moment at which a pause starts gives it back and waits for its end', async () => {
  const slow = tokenBucket({ capacity: 2, refill: 1, every: '1s' });
  const answers: ((response: Response) => void)[] = [];
  const late: Answer = () => new Promise((resolve) => answers.push(resolve));
  const { clock, limited, limiter, sent } = thirdParty([late, ok], { retries: 0 }, slow);
  await limiter.consume('a.example');
  const first = limited(URL_A);
  const second = limited(URL_A);
  await clock.pass(999);
  answers[0]?.(new Response('too much', { status: 429, headers: { 'retry-after': '10' } }));
  clock.advance(1);
  await settled(clock, Promise.all([first, second]));
  expect(sent[1]?.atMs).toBeGreaterThanOrEqual(10_999);
});

describe('what is sent again', () => {
  const stream = () => new Response('body').body as ReadableStream;
  const form = new FormData();
  test.each<[string, string, RequestInit]>([
    ['GET', URL_A, {}],
    ['a PUT of a text', URL_A, { method: 'PUT', body: 'a' }],
    ['a PUT of bytes', URL_A, { method: 'PUT', body: new Uint8Array(3) }],
    ['a PUT of a form', URL_A, { method: 'put', body: form }],
    ['a PUT of a blob', URL_A, { method: 'PUT', body: new Blob(['a']) }],
    ['a DELETE', URL_A, { method: 'DELETE' }],
  ])('%s is', async (_, url, init) => {
    const { clock, limited, sent } = thirdParty([refusal({ 'retry-after': '1' }), ok]);
    expect((await settled(clock, limited(url, init))).status).toBe(200);
    expect(sent.map(({ body }) => body)).toEqual([init.body, init.body]);
  });

  test.each<[string, Parameters<Fetch>]>([
    ['a POST', [URL_A, { method: 'POST', body: 'a' }]],
    ['a PATCH', [URL_A, { method: 'PATCH', body: 'a' }]],
    ['a PUT of a stream', [URL_A, { method: 'PUT', body: stream(), duplex: 'half' } as RequestInit]],
    ['a Request with a body', [new Request(URL_A, { method: 'PUT', body: 'a' })]],
  ])('%s is not', async (_, call) => {
    const { clock, limited, sent } = thirdParty([refusal({ 'retry-after': '1' }), ok]);
    expect((await settled(clock, limited(...call))).status).toBe(429);
    expect(sent.length).toBe(1);
  });

  test('a POST is where the options say so, a GET is not where they say that nothing is', async () => {
    const post = thirdParty([refusal({ 'retry-after': '1' }), ok], { retryMethods: ['post'] });
    expect((await settled(post.clock, post.limited(URL_A, { method: 'POST', body: 'a' }))).status).toBe(200);
    const none = thirdParty([refusal({ 'retry-after': '1' }), ok], { retries: 0 });
    expect((await none.limited(URL_A)).status).toBe(429);
  });

  test('the body of an answer that nobody sees is cancelled', async () => {
    let cancelled = 0;
    const body = () => new ReadableStream({ cancel: () => void cancelled++ });
    const busy: Answer = () => new Response(body(), { status: 503, headers: { 'retry-after': '1' } });
    const { clock, limited } = thirdParty([busy, busy, ok]);
    await settled(clock, limited(URL_A));
    expect(cancelled).toBe(2);
  });
});

test('what fetch rejects with is what the caller gets, and it is not sent again', async () => {
  const fault = new TypeError('fetch failed');
  const { limited, sent } = thirdParty([() => Promise.reject(fault)]);
  await expect(limited(URL_A)).rejects.toBe(fault);
  expect(sent.length).toBe(1);
  await expect(limited('no url')).rejects.toBeInstanceOf(TypeError);
});

test('a listener that throws changes nothing', async () => {
  const onLimited = () => {
    throw new Error('mine');
  };
  const { limited } = thirdParty([refusal()], { onLimited, retries: 0 });
  expect((await limited(URL_A)).status).toBe(429);
});

test.each<[string, unknown]>([
  ['limiter', undefined],
  ['limiter', {}],
  ['subject', 'host'],
  ['cost', -1],
  ['cost', '1'],
  ['maxWaitMs', -1],
  ['maxWaitMs', Number.NaN],
  ['maxPauseMs', '1h'],
  ['retries', 1.5],
  ['retries', 11],
  ['retryMethods', 'POST'],
  ['onLimited', 1],
  ['retry', 1],
])('the option %s: %j is refused by name', (name, value) => {
  const { limiter } = thirdParty([]);
  const make = () => limitFetch(fetch, { limiter, [name]: value } as LimitFetchOptions);
  expect(make).toThrow(expect.objectContaining({ code: 'ERR_OPTION', field: name }));
});
