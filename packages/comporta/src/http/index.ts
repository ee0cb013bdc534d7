export { ComportaError } from '../core/errors.js';
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
export { type Action, type ActionCall, type ActionOptions, limitCalls } from './action.js';
export { type ActionRefusal, ActionRefusedError, refusalOf } from './action-refused.js';
export { applyFields, type FieldTarget } from './apply.js';
export {
  type FunctionOptions,
  limitFunction,
} from './azure-handler.js';
export {
  addressReader,
  type ClientAddress,
  type Platform,
  type ReadAddress,
  runtimeAddress,
} from './client-address.js';
export { createGate, type Gate, type GateOptions, type Verdict } from './gate.js';
export { checkHook } from './gate-options.js';
export { GRPC_CODES, type GrpcCall, type GrpcMetadata, limitCall } from './grpc-call.js';
export type { Field, HeaderForm } from './headers.js';
export { type KeepAlive, keepAliveOf, stayAwake } from './keep-alive.js';
export type { LambdaAnswer } from './lambda-answer.js';
export { type AuthorizerAnswer, lambdaAuthorizer } from './lambda-authorizer.js';
export type { LambdaEvent } from './lambda-event.js';
export {
  type LambdaHandler,
  type LambdaResult,
  limitLambda,
  limitMiddy,
  type MiddyHooks,
  type MiddyRequest,
} from './lambda-handler.js';
export { MessageGate, type MessageOptions } from './message-gate.js';
export { hostOfPeer, MessageView } from './message-view.js';
export { type Mounted, mount, type RateLimitOptions } from './mount.js';
export type { ExceptionClasses } from './nest-exception.js';
export { HandlerGates } from './nest-gates.js';
export { type HandlerDecorator, type HandlerLimits, limitHandler, skipHandler } from './nest-rules.js';
export { finishedByNode, type NodePair, type NodeResponse, onNodeEnd } from './node-end.js';
export { type NodeAnswer, nodeResponder } from './node-respond.js';
export { type NodeRequest, NodeView } from './node-view.js';
export { rememberedPeer, rememberPeers } from './peer-address.js';
export { RateLimitRefusal } from './refusal-error.js';
export { type Responder, respond } from './respond.js';
export { type Route, type RoutedOptions, type RouteLimits, RouteMounts } from './route-mounts.js';
export { serverEnv } from './server-env.js';
export { interceptEvents, type PacketSocket, type SocketEvent } from './socket-io.js';
export { type TrpcCall, type TrpcResult, trpcResponse, trpcSettled, trpcViews } from './trpc-call.js';
export { refuseUnsettled } from './unsettled.js';
export type { RequestView } from './view.js';
export { answerWeb } from './web-end.js';
export { interceptMessages, type WsMessage, type WsSocket } from './web-socket.js';
export { WebView } from './web-view.js';
export { writeFields } from './write-fields.js';

/** Value for `Access-Control-Expose-Headers`: without it browsers hide the fields from cross-origin scripts. */
export const EXPOSED_HEADERS = 'RateLimit, RateLimit-Policy, Retry-After';
