import { type LeaseSettings, type Limit, leaseBounds, type SplitSettings, splitLosses } from 'comporta';
import type { ServerConfig } from '../config/config.js';
import type { Address } from '../config/types.js';

/** One line per policy: what it matches, who is counted, how much, and what an outage does. */
export function describePolicies({ gate }: ServerConfig): readonly string[] {
  return gate.policies.map((policy) => {
    const limits = (Array.isArray(policy.limits) ? policy.limits : [policy.limits]) as readonly Limit[];
    const key = typeof policy.key === 'function' ? 'function' : [policy.key ?? 'ip'].flat().join(' + ');
    const parts = [
      `policy ${policy.name}: counts ${key}`,
      limits.map(describeLimit).join(' and '),
      `on store failure ${policy.onStoreFailure ?? gate.onStoreFailure ?? 'local'}`,
      ...(policy.lease === undefined ? [] : [describeLease(limits, policy.lease)]),
      ...(policy.split === undefined ? [] : [describeSplit(limits, policy.split)]),
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

/** What an operator agreed to. */
function describeLease(limits: readonly Limit[], lease: LeaseSettings): string {
  const bounds = leaseBounds(limits, lease).map(({ id, units }) => `${id} + ${units}`);
  return `leases: all processes together admit at most ${bounds.join(', ')}`;
}

/** What it costs, where as much is asked for as the limits allow. */
function describeSplit(limits: readonly Limit[], split: SplitSettings): string {
  const losses = splitLosses(limits, split).map(
    ({ id, largestCost, loss }) => `${id} up to ${(100 * loss).toFixed(1)} %, and all costs above ${largestCost}`,
  );
  return `split in ${split.parts} parts: refused too early ${losses.join(', ')}`;
}

/** A store's address without its credentials. */
export function describeStore(store: string): string {
  return store.replace(/\/\/[^@]*@/, '//***@');
}

export function authorityOf({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export const urlOf = (address: Address, scheme = 'http'): string => `${scheme}://${authorityOf(address)}`;
