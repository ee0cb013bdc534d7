import { expect, test } from 'vitest';
import { type Locked, lockedBy, unlocked } from '../../../packages/server/src/config/restart.js';
import { apiFile } from '../../e2e/api-support.js';
import { configOf } from '../../e2e/gateway-support.js';

const TOKENS = ['a-token-0123456789'];
const withTokens = configOf(apiFile({ tokens: TOKENS }));
const without = { ...withTokens, api: withTokens.api && { ...withTokens.api, tokens: undefined } };

const named = (before: Locked, wanted: Locked): readonly string[] => unlocked(before, wanted).map(({ path }) => path);

test('a file without the tokens that callers need now is not taken; with others, or more, it is', () => {
  expect(withTokens.api?.tokens).toEqual(TOKENS);
  expect(named(withTokens, without)).toEqual(['api.tokens']);
  expect(named(withTokens, configOf(apiFile({ tokens: ['another-token-0123456789'] })))).toEqual([]);
  expect(named(without, withTokens)).toEqual([]);
  expect(named(without, without)).toEqual([]);
});

test('a section that was away meanwhile opens nothing when it is back', () => {
  const away = { ...without, api: undefined };
  expect(named(withTokens, away)).toEqual([]);
  expect(named(lockedBy(withTokens, away), without)).toEqual(['api.tokens']);
});

test('authorities of client certificates are taken away by a restart only, alone or with all of TLS', () => {
  const tls = { cert: '', key: '', ca: 'authorities', reread: () => ({}) };
  const locked = { ...without, api: without.api && { ...without.api, tls } };
  const { ca: _, ...open } = tls;
  expect(named(locked, { ...without, api: without.api && { ...without.api, tls: open } })).toEqual(['api.tls.ca']);
  expect(named(locked, without)).toEqual(['api.tls.ca']);
  expect(named(locked, locked)).toEqual([]);
});
