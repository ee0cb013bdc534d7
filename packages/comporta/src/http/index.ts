export { ComportaError } from '../core/errors.js';
export { type ClientIpOptions, type ClientOf, createClientOf } from '../identity/client-name.js';
export { parseIp } from '../identity/ip.js';
export { parseProxies, type TrustedProxies } from '../identity/proxies.js';
export { ANONYMOUS, type Key, type KeySource } from '../identity/subject.js';
export { pathSegments, resolvedSegments } from '../policies/path.js';
export type {
  AccessList,
  AddressList,
  CountFunction,
  Match,
  Outcome,
  PlanSource,
  Policy,
} from '../policies/policy.js';
export { type PathReadings, pathReadings } from '../policies/readings.js';
export { applyFields, type FieldTarget } from './apply.js';
export { doneByNode, type NodePair, setByNode } from './by-node.js';
export {
  addressReader,
  type ClientAddress,
  type Platform,
  type ReadAddress,
  runtimeAddress,
} from './client-address.js';
export { createGate, type Gate, type GateOptions, type Verdict } from './gate.js';
export { checkHook } from './gate-options.js';
export type { Field, HeaderForm } from './headers.js';
export { joinedWith } from './joined-with.js';
export { type KeepAlive, keepAliveOf, stayAwake } from './keep-alive.js';
export { type Mounted, mount, type RateLimitOptions } from './mount.js';
export { type NodeResponse, onNodeEnd } from './node-end.js';
export { type NodeAnswer, NodeResponder } from './node-respond.js';
export { type NodeRequest, NodeView } from './node-view.js';
export { RateLimitRefusal } from './refusal-error.js';
export { type Responder, respond } from './respond.js';
export { hostContexts, serverEnv } from './server-env.js';
export { refuseUnsettled } from './unsettled.js';
export type { RequestView } from './view.js';
export { answerWeb } from './web-end.js';
export { WebView } from './web-view.js';
export { writeFields } from './write-fields.js';

/** Value for `Access-Control-Expose-Headers`: without it browsers hide the fields from cross-origin scripts. */
export const EXPOSED_HEADERS = 'RateLimit, RateLimit-Policy, Retry-After';
