import { expect, test } from 'vitest';
import { Notices } from '../../../packages/comporta/src/resilience/notices.js';
import { FakeClock } from '../../support/fake-clock.js';

const away = { mode: 'local', cause: 'unavailable', detail: 'connection refused' } as const;

function setUp(node: string = 'redis') {
  const clock = new FakeClock();
  const said: string[] = [];
  return { clock, said, notices: new Notices(node, clock, (message) => said.push(message)) };
}

test('an outage of a second is told once, with its reason, and so is its end', () => {
  const { clock, said, notices } = setUp();
  for (let i = 0; i < 30; i++) {
    notices.failed('api', away);
    clock.advance(100);
  }
  expect(said).toEqual([
    'the store does not answer: mode local decides for policy api (unavailable: connection refused)',
  ]);
  notices.recovered();
  notices.recovered();
  expect(said.slice(1)).toEqual(['the store answers again']);
});

test('a node of a cluster is told by its address', () => {
  const { clock, said, notices } = setUp('10.0.0.7:6379');
  for (let i = 0; i < 30; i++) {
    notices.failed('api', away);
    clock.advance(100);
  }
  notices.recovered();
  expect(said).toEqual([
    'the store at 10.0.0.7:6379 does not answer: mode local decides for policy api (unavailable: connection refused)',
    'what was stored at 10.0.0.7:6379 answers again',
  ]);
});

test('a store that answers with complaints is not called silent', () => {
  const { clock, said, notices } = setUp();
  for (let i = 0; i < 30; i++) {
    notices.failed('api', { ...away, cause: 'misconfigured', detail: 'NOPERM' });
    clock.advance(100);
  }
  expect(said).toEqual(['the store refuses calls: mode local decides for policy api (misconfigured: NOPERM)']);
});

test('a short one is not worth a line', () => {
  const { clock, said, notices } = setUp();
  for (let i = 0; i < 30; i++) {
    notices.failed('api', away);
    clock.advance(900);
    notices.recovered();
  }
  expect(said).toEqual([]);
});
