import {
  type LeaseSettings,
  type Limit,
  leaseBounds,
  type SplitSettings,
  slidingWindowCounter,
  splitLosses,
} from 'comporta';
import type { ServerConfig } from '../config/config.js';
import { isCluster } from '../config/store.js';
import type { Address } from '../config/types.js';

type Policy = ServerConfig['gate']['policies'][number];

/** One line per policy: what it matches, who is counted, how much, and what an outage does. */
export function describePolicies({ gate, store }: ServerConfig): readonly string[] {
  return gate.policies.map((policy) => {
    const limits = (Array.isArray(policy.limits) ? policy.limits : [policy.limits]) as readonly Limit[];
    const key = typeof policy.key === 'function' ? 'function' : [policy.key ?? 'ip'].flat().join(' + ');
    const parts = [
      `policy ${policy.name}: counts ${key}`,
      limits.map(describeLimit).join(' and '),
      `on store failure ${policy.onStoreFailure ?? gate.onStoreFailure ?? 'local'}`,
      ...(policy.lease === undefined ? [] : [describeLease(setsOf(policy), policy.lease, store.url)]),
      ...(policy.split === undefined ? [] : [describeSplit(limits, policy.split, store.url)]),
      ...(policy.count === 'failures' || policy.count === 'successes' ? [`${policy.count} only`] : []),
      ...(policy.shadow === true ? ['shadow: never refuses'] : []),
      ...(typeof policy.shadow === 'object' ? [`shadow for ${policy.shadow.percent} % of the subjects`] : []),
    ];
    return parts.join('; ');
  });
}

function describeLimit({ algorithm, settings }: Limit): string {
  const text = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return `${algorithm.name} ${text.join(', ')}`;
}

/** A policy's own limits, and those of each of its plans. */
function setsOf({ limits, plans = {} }: Policy): readonly (readonly Limit[])[] {
  return [limits, ...Object.values(plans)].map((set) => [set].flat() as readonly Limit[]);
}

const IN_MEMORY = 'no effect with store: memory';

/** What an operator agreed to: of limits that share an id, the most. */
function describeLease(sets: readonly (readonly Limit[])[], lease: LeaseSettings, store: string): string {
  if (store === 'memory') return `leases: ${IN_MEMORY}`;
  const most = new Map<string, number>();
  for (const { id, units } of sets.filter((set) => isLeased(set, lease)).flatMap((set) => leaseBounds(set, lease))) {
    most.set(id, Math.max(units, most.get(id) ?? 0));
  }
  if (most.size === 0) return 'leases: never, since maxOvershoot of the limits is less than 2 units';
  const bounds = [...most].map(([id, units]) => `${id} + ${units}${units === 0 ? ' (never beyond it)' : ''}`);
  return `leases: all processes together admit at most ${bounds.join(', ')}`;
}

/** Whether there are ever leases; a bound of 0 may also mean that they are given back in time. */
function isLeased(set: readonly Limit[], { maxOvershoot }: LeaseSettings): boolean {
  const limit = Math.min(...set.map((one) => one.limit));
  return leaseBounds(slidingWindowCounter({ limit, window: '1s' }), { maxOvershoot }).some(({ units }) => units > 0);
}

/** What it costs, where as much is asked for as the limits allow. */
function describeSplit(limits: readonly Limit[], split: SplitSettings, store: string): string {
  if (store === 'memory') return `split: ${IN_MEMORY}`;
  const losses = splitLosses(limits, split).map(
    ({ id, largestCost, loss }) => `${id} up to ${(100 * loss).toFixed(1)} %, and all costs above ${largestCost}`,
  );
  const who = split.subjects === undefined ? 'every subject' : split.subjects.join(', ');
  const vain = isCluster(store) ? '' : ' (only costs, spreads nothing: the store is no cluster)';
  return `${who} split in ${split.parts} parts${vain}: refused too early ${losses.join(', ')}`;
}

/** A store's address without its credentials. */
export function describeStore(store: string): string {
  return store.replace(/\/\/[^@]*@/, '//***@');
}

export function authorityOf({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export const urlOf = (address: Address, scheme = 'http'): string => `${scheme}://${authorityOf(address)}`;
