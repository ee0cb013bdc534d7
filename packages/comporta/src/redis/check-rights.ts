import type { Limit } from '../algorithms/algorithm.js';
import { compose, type Operation } from '../algorithms/compose.js';
import { ALL_GATES } from '../algorithms/compose-gates.js';
import type { RedisNode } from './client.js';
import { lacksRight } from './explain.js';
import { type Finding, failure, ok } from './finding.js';

/** A new operation does not compile until it is named here. */
const OPERATIONS: Readonly<Record<Operation, true>> = {
  consume: true,
  consumeMany: true,
  peek: true,
  force: true,
  refund: true,
  reset: true,
  charge: true,
  reward: true,
  take: true,
  reserve: true,
  settle: true,
  block: true,
  setTerms: true,
  release: true,
  renew: true,
};

/** Commands that the scripts for these limits give, in lower case and in order. */
export function scriptCommands(limits: readonly Limit[]): string[] {
  const operations = Object.keys(OPERATIONS) as Operation[];
  const texts = operations.map((operation) => compose(operation, limits, ALL_GATES).text).join('\n');
  const names = [...texts.matchAll(/redis\.p?call\('([A-Z]+)'/g)].map(([, name]) => String(name).toLowerCase());
  return [...new Set(names)].sort();
}

/** Asks the server about each command, since a script meets the first missing right only. */
const ASK = `#!lua flags=no-writes
local denied = {}
for i = 1, #ARGV do
if not redis.acl_check_cmd(ARGV[i], KEYS[1]) then denied[#denied + 1] = ARGV[i] end
end
return denied
`;

/** Which commands of the scripts the user may not give. */
export async function checkRights(node: RedisNode, key: string, limits: readonly Limit[]): Promise<Finding[]> {
  const commands = scriptCommands(limits);
  try {
    const reply = await node.send(['EVAL', ASK, '1', key, ...commands]);
    const denied = Array.isArray(reply) ? reply.map(String) : [];
    if (denied.length === 0) return [ok('rights', `all ${commands.length} commands of the scripts are allowed`)];
    const rights = denied.map((name) => `+${name}`).join(' ');
    return [failure('rights', `the user lacks ${rights}`, `ACL SETUSER name ${rights}`)];
  } catch (error) {
    // The scripts themselves say what is wrong; this check can only add the whole list.
    if (!lacksRight(error)) return [];
    const isKey = /key/i.test(String(error));
    if (isKey) return [failure('rights', `the user may not use ${key}`, `ACL SETUSER name ~${key.split(':')[0]}:*`)];
    return [failure('rights', 'the user lacks +eval', 'ACL SETUSER name +eval')];
  }
}
