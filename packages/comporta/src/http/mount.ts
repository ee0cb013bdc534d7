import { ComportaError } from '../core/errors.js';
import type { RequestView } from '../identity/view.js';
import { POLICY_FIELDS } from '../policies/compile.js';
import type { Policy } from '../policies/policy.js';
import type { MaybePromise } from '../stores/store.js';
import { firstMeetings } from './first-meeting.js';
import { createGate, type Gate, type GateOptions, type Verdict } from './gate.js';
import { isGateOption } from './gate-options.js';
import { createReport } from './report.js';
import { ALLOWED } from './verdict.js';

/** Options of an adapter: a list of policies, or the fields of the only one (`default` unless named). */
export type RateLimitOptions<Request = unknown> =
  | GateOptions<Request>
  | (Omit<GateOptions<Request>, 'policies' | 'allow' | 'deny'> &
      Omit<Policy<Request>, 'name'> & { readonly name?: string });

/** A gate as an adapter uses it. */
export interface Mounted<Request = unknown> {
  readonly gate: Gate<Request>;
  /** As {@link Gate.check}, once per request object: mounted twice, it counts once and says so. */
  check(request: object, view: RequestView<Request>, cost?: number): MaybePromise<Verdict>;
}

/** Makes the gate of an adapter. */
export function mount<Request>(options: RateLimitOptions<Request>): Mounted<Request> {
  const gate = createGate(toGateOptions(options));
  const isFirst = firstMeetings(createReport(options.onError));
  return {
    gate,
    check: (request, view, cost) => (isFirst(request) ? gate.check(view, undefined, cost) : ALLOWED),
  };
}

/** Fields of a policy that are the gate's where there is only one. */
const OF_THE_GATE: readonly string[] = ['timeoutMs', 'onStoreFailure', 'instances'];

function toGateOptions<Request>(options: RateLimitOptions<Request>): GateOptions<Request> {
  if (typeof options !== 'object' || options === null || 'policies' in options) return options as GateOptions<Request>;
  const isPolicyField = ([name]: readonly [string, unknown]) =>
    POLICY_FIELDS.includes(name) && !OF_THE_GATE.includes(name);
  const entries = Object.entries(options);
  if (options.store?.kind === 'redis' && options.name === undefined) {
    throw new ComportaError(
      'ERR_POLICY',
      'name: missing; on a shared store it keeps the counts of different services apart',
      'name',
    );
  }
  const unknown = entries.find(([name]) => !POLICY_FIELDS.includes(name) && !isGateOption(name));
  if (unknown !== undefined) {
    const names = [...POLICY_FIELDS, 'store', 'timeoutMs', 'onStoreFailure', 'trustedProxies', 'headers'];
    throw new ComportaError('ERR_OPTION', `${unknown[0]}: unknown; it takes ${names.join(', ')} ...`, unknown[0]);
  }
  const policy = { name: 'default', ...Object.fromEntries(entries.filter(isPolicyField)) } as Policy<Request>;
  return { ...Object.fromEntries(entries.filter((entry) => !isPolicyField(entry))), policies: [policy] };
}
