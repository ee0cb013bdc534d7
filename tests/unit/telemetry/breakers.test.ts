import { expect, test } from 'vitest';
import { BreakerStates } from '../../../packages/comporta/src/telemetry/breakers.js';
import { createInstruments } from '../../../packages/comporta/src/telemetry/instruments.js';
import { record } from './otel-reader.js';

function observed() {
  const states = new BreakerStates(createInstruments(record().meter));
  const on = (): readonly string[] => {
    const labels: string[] = [];
    states.observe({
      observe: (value, attributes) => {
        if (value === 1) labels.push(`${attributes?.['comporta.node']} ${attributes?.['comporta.state']}`);
      },
    });
    return labels;
  };
  return { states, on };
}

test('a node is as its worst breaker', () => {
  const { states, on } = observed();
  states.changed({ node: 'a', state: 'open', timeoutMs: 50 });
  states.changed({ node: 'a', state: 'halfOpen', timeoutMs: 2000 });
  expect(on()).toEqual(['a open']);
  states.changed({ node: 'a', state: 'closed', timeoutMs: 50 });
  expect(on()).toEqual(['a half_open']);
});

test('addresses of nodes stay bounded: who is well is forgotten, and the rest is one', () => {
  const { states, on } = observed();
  for (let i = 0; i < 64; i++) states.changed({ node: `n${i}`, state: i === 7 ? 'closed' : 'open', timeoutMs: 50 });
  states.changed({ node: 'new', state: 'open', timeoutMs: 50 });
  expect(on()).toContain('new open');
  expect(on()).not.toContain('n7 closed');
  for (let i = 0; i < 1000; i++) states.changed({ node: `more${i}`, state: 'open', timeoutMs: 50 });
  expect(on().length).toBeLessThanOrEqual(65);
  expect(on()).toContain('other open');
});
