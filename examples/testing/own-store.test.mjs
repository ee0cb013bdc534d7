// The suite for stores, run on one's own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryStore } from 'comporta';
import { storeSuite } from 'comporta/testing';
import { measured } from './own-store.mjs';

const answers = new Map();
const store = measured(memoryStore(), (operation) => answers.set(operation, (answers.get(operation) ?? 0) + 1));

for (const { name, run } of storeSuite) test(name, () => run(store));

test('every operation was measured', () => {
  for (const operation of ['consume', 'peek', 'refund', 'act', 'reset']) assert.ok(answers.get(operation) > 0);
});
