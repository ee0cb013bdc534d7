import { expect, test } from 'vitest';
import { Notices } from '../../../packages/comporta/src/resilience/notices.js';
import { FakeClock } from '../../support/fake-clock.js';

const away = { mode: 'local', cause: 'unavailable', detail: 'connection refused' } as const;

function setUp() {
  const clock = new FakeClock();
  const said: string[] = [];
  return { clock, said, notices: new Notices(clock, (message) => said.push(message)) };
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

test('a short one is not worth a line', () => {
  const { clock, said, notices } = setUp();
  for (let i = 0; i < 30; i++) {
    notices.failed('api', away);
    clock.advance(900);
    notices.recovered();
  }
  expect(said).toEqual([]);
});
