import { ComportaError, isComportaError } from 'comporta';
import { expect, test, vi } from 'vitest';
import { show } from '../../../packages/comporta/src/core/errors.js';

test('an error carries its code, its field and its words, and is an Error', () => {
  const error = new ComportaError('ERR_LIMIT', 'limit: too large', 'limits[0].limit');
  expect(error).toBeInstanceOf(Error);
  expect(error.name).toBe('ComportaError');
  expect({ ...error, message: error.message }).toMatchObject({
    code: 'ERR_LIMIT',
    message: 'limit: too large',
    field: 'limits[0].limit',
  });
  expect(new ComportaError('ERR_CLOSED', 'closed').field).toBe('');
});

test('an error of a second copy of the package is recognised, though instanceof is not', async () => {
  vi.resetModules();
  const copy = await import('../../../packages/comporta/src/core/errors.js');
  const error = new copy.ComportaError('ERR_COST', 'cost: no');
  expect(error).not.toBeInstanceOf(ComportaError);
  expect(isComportaError(error)).toBe(true);
  expect(copy.isComportaError(new ComportaError('ERR_COST', 'cost: no'))).toBe(true);
});

test.each<[string, unknown]>([
  ['an ordinary error', new Error('ERR_COST')],
  ['an error with such a name and code', Object.assign(new Error('x'), { name: 'ComportaError', code: 'ERR_COST' })],
  ['an object of that shape', { name: 'ComportaError', code: 'ERR_COST', field: 'cost', message: 'x' }],
  ['a text', 'ComportaError'],
  ['null', null],
  ['undefined', undefined],
  ['the class itself', ComportaError],
])('%s is not one of this package', (_, value) => {
  expect(isComportaError(value)).toBe(false);
});

test('the brand stays out of logs and copies of the fields', () => {
  const error = new ComportaError('ERR_COST', 'cost: no', 'cost');
  expect(Object.getOwnPropertySymbols({ ...error })).toEqual([]);
});

test.each<[unknown, string]>([
  ['a "quoted" text', '"a \\"quoted\\" text"'],
  ['x'.repeat(60), `"${'x'.repeat(60)}"`],
  ['x'.repeat(61), `"${'x'.repeat(57)}..."`],
  ['two\nlines', '"two\\nlines"'],
  [1.5, '1.5'],
  [-0, '0'],
  [10n, '10n'],
  [null, 'null'],
  [undefined, 'undefined'],
  [Symbol('s'), 'Symbol(s)'],
  [[1, 2], 'a list'],
  [{ toString: 1 }, 'an object'],
  [Object.create(null), 'an object'],
])('any value fits in one short line of a message: %#', (value, words) => {
  expect(show(value)).toBe(words);
});
