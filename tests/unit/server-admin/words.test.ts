import { expect, test } from 'vitest';
import { type Command, readArguments, UsageError } from '../../../packages/server/src/cli/command.js';
import { keys } from '../../../packages/server/src/cli/keys.js';
import { top } from '../../../packages/server/src/cli/top.js';

const run = async ([name, ...words]: readonly string[]): Promise<number> => {
  const command: Command = name === 'top' ? top : keys;
  return command.run(readArguments(command, words));
};

test.each([
  [['keys'], 'what to do?'],
  [['keys', 'blok'], 'Did you mean block?'],
  [['keys', 'constructor'], 'there is no action'],
  [['keys', 'block', '--policy', 'p', '--subject', 's'], 'needs --for'],
  [['keys', 'reset', '--subject', 's'], 'needs --policy'],
  [['keys', 'reset', '--policy', 'p'], 'needs --subject'],
  [['keys', 'reset', '--policy', 'p', '--subject', 's', '--part', 't'], 'needs --subject'],
  [['keys', 'reset', '--policy', 'p', '--subject', 's', '--for', '1h'], 'takes no --for'],
  [['keys', 'refund', '--policy', 'p', '--subject', 's', '--amount', '0'], 'whole number from 1'],
  [['keys', 'override', '--policy', 'p', '--subject', 's', '--for', '1h'], '--plan or --limits'],
  [['keys', 'override', '--policy', 'p', '--subject', 's', '--for', '1h', '--limits', '{'], 'takes JSON'],
  [['keys', 'inspect', '--policy', 'p', '--subject', 's', '--url', 'ftp://a'], '--url takes'],
  [['keys', 'inspect', '--policy', 'p', '--subject', 's', '--url', 'http://u:p@a'], '--url takes'],
  [['keys', 'inspect', '--policy', 'p', '--subject', 's', '--token', 'x'], "Unknown option '--token'"],
  [['keys', 'inspect', '--policy', 'p', '--subject', 's', '--token-file', '/nowhere'], '--token-file'],
  [['top', '--by', 'luck'], 'requests or refusals'],
  [['keys', 'refund', '--policy', 'p', '--policy', 'q'], '--policy is given twice'],
  [['keys', 'reset', '--policy', 'p', '--part', 'a', '--part', 'b', '--for', '1h'], 'takes no --for'],
])('%j is a wrong use, told before anybody is asked', async (words, message) => {
  const error = await run(words).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UsageError);
  expect((error as UsageError).message).toContain(message);
});

test('no option takes the token itself, which others could read', () => {
  for (const { options, help } of [keys, top]) {
    expect(Object.keys(options)).not.toContain('token');
    expect(help).not.toMatch(/--token(?!-file)/);
  }
});
