import { ComportaError, show } from '../core/errors.js';
import { unawaited } from '../core/unawaited.js';
import { type ClientOf, clientNameOf } from '../identity/client-name.js';
import { formatIp, mask, ownerOf } from '../identity/ip-text.js';
import { hasGoodBits, type Network, NetworkSet, namedNetworks, parseNetwork } from '../identity/networks.js';
import {
  GLOBAL,
  type Key,
  type KeyContext,
  messageOf,
  subjectAsNamed,
  subjectForm,
  subjectOfValue,
} from '../identity/subject.js';
import type { RequestView } from '../identity/view.js';
import type { AccessList } from './policy.js';
import { refusal } from './refusal.js';

/** Whether a list names a request. */
export type IsListed<Request = unknown> = (view: RequestView<Request>, subject: string) => boolean;

interface AccessContext {
  readonly clientOf: ClientOf;
  readonly ipv6Prefix?: number | undefined;
  readonly report: KeyContext['report'];
}

const ADDRESS = 'expected an address or a CIDR such as 203.0.113.0/24';
const FORMS = 'a list of addresses and CIDRs, { addresses, subjects } or a function';

/** Compiles a list; `key` is the policy's, `undefined` for lists of the gate. Throws `ERR_POLICY` naming the entry. */
export function compileAccess<Request>(
  list: AccessList<Request> | undefined,
  field: string,
  key: Key<Request> | undefined,
  context: AccessContext,
): IsListed<Request> | undefined {
  if (list === undefined) return undefined;
  if (typeof list === 'function') return fromFunction(list, field, context.report);
  if (Array.isArray(list)) return byAddress(networksOf(list, field, key !== undefined), context.clientOf);
  if (typeof list !== 'object' || list === null) throw refusal(field, `expected ${FORMS}, got ${show(list)}`);
  const { addresses, subjects, ...others } = list as { readonly addresses?: unknown; readonly subjects?: unknown };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw refusal(`${field}.${unknown}`, `unknown; expected ${FORMS}`);
  const isAddress = byAddress(networksOf(addresses ?? [], `${field}.addresses`, true), context.clientOf);
  const known = subjectsOf(subjects ?? [], `${field}.subjects`, key, context.ipv6Prefix);
  if (known.size === 0) return isAddress;
  return addresses === undefined
    ? (_, subject) => known.has(subject)
    : (view, subject) => known.has(subject) || isAddress(view, subject);
}

function byAddress(networks: readonly Network[], clientOf: ClientOf): IsListed {
  const set = new NetworkSet(networks);
  return (view) => {
    const client = clientOf(view);
    return client !== undefined && set.has(client.address);
  };
}

function networksOf(list: unknown, field: string, hasKey: boolean): readonly Network[] {
  if (!Array.isArray(list)) throw refusal(field, `expected a list, got ${show(list)}`);
  return list.flatMap((entry: unknown, i) =>
    (typeof entry === 'string' ? namedNetworks(entry) : ['']).map((text) => {
      const network = parseNetwork(text);
      if (network !== undefined) return checked(network, `${field}[${i}]`, text);
      const hint = hasKey ? '; values of the key go under subjects' : '';
      throw refusal(`${field}[${i}]`, `${ADDRESS}, got ${show(entry)}${hint}`);
    }),
  );
}

/** A CIDR with bits beyond its prefix is mistyped: nobody knows which of the two was meant. */
function checked(network: Network, field: string, text: string): Network {
  const { bytes, bits } = network;
  if (!hasGoodBits(network)) {
    throw refusal(field, `expected a prefix of 1 to ${bytes.length * 8} bits, got ${show(text)}`);
  }
  const first = mask(bytes, bits);
  if (first.every((byte, i) => byte === bytes[i])) return ofOwner(network);
  throw refusal(field, `${show(text)} is no first address of a network; did you mean "${formatIp(first)}/${bits}"?`);
}

/** Clients behind a NAT64 are known by their IPv4 address, so lists are too. */
function ofOwner({ bytes, bits }: Network): Network {
  const owner = ownerOf(bytes);
  const hidden = (bytes.length - owner.length) * 8;
  return bits > hidden ? { bytes: owner, bits: bits - hidden } : { bytes, bits };
}

function subjectsOf<Request>(
  list: unknown,
  field: string,
  key: Key<Request> | undefined,
  ipv6Prefix: number | undefined,
): ReadonlySet<string> {
  if (!Array.isArray(list)) throw refusal(field, `expected a list, got ${show(list)}`);
  if (list.length > 0 && (key === undefined || subjectForm(key) === GLOBAL)) {
    throw refusal(field, 'there is no key whose values could stand here; only addresses can');
  }
  const parts = Array.isArray(key) ? key.length : 1;
  const expected = parts === 1 ? 'a text' : `a list of ${parts} texts, one for each part of the key`;
  return new Set(
    list.map((value: unknown, i) => {
      const subject = key === undefined ? undefined : subjectOfValue(key, value);
      if (key === undefined || subject === undefined) {
        throw refusal(`${field}[${i}]`, `expected ${expected}, got ${show(value)}`);
      }
      const named = subjectAsNamed(key, subject, (address) => clientNameOf(address, ipv6Prefix));
      if (named === subject) return subject;
      const fix = named === undefined ? '' : `, but ${show(named)}`;
      const hint = 'addresses and networks go under addresses';
      throw refusal(`${field}[${i}]`, `this key names no subject ${show(subject)}${fix}; ${hint}`);
    }),
  );
}

/** A function that fails names nobody: a mistake in it neither shuts people out nor lets them past. */
function fromFunction<Request>(
  test: (view: RequestView<Request>) => boolean,
  field: string,
  report: KeyContext['report'],
): IsListed<Request> {
  return (view) => {
    try {
      const isNamed: unknown = unawaited(test(view));
      if (typeof isNamed !== 'object') return isNamed === true;
      const got = `${field}: the function must answer at once with true or false, got ${show(isNamed)}`;
      report(new ComportaError('ERR_POLICY', `${got}; the request is not on the list`, field));
      return false;
    } catch (error) {
      const message = `${field}: the function failed: ${messageOf(error)}; the request is not on the list`;
      report(new ComportaError('ERR_POLICY', message, field));
      return false;
    }
  };
}
