import type { IncomingMessage } from 'node:http';
import { isComportaError } from 'comporta';
import { createGate, type GateOptions } from 'comporta/http';
import { checkAdmin } from '../admin/check.js';
import { checkAlerts } from '../alerts/check.js';
import { checkApi } from '../api/check.js';
import { toGateOptions } from './config.js';
import { valueAt } from './issues.js';
import { formatPath, type Path, type Problem, parsePath } from './problem.js';
import { takenBy } from './routes-order.js';
import type { Source } from './source.js';
import type { Fault } from './store.js';
import type { FileConfig } from './types.js';

type Report = (path: Path, message: string, hint?: string) => void;

/** Faults that no single field shows: doubles, things that can never happen, and what the library refuses. */
export function checkMeaning(file: FileConfig, source: Source, storeFaults: readonly Fault[]): Problem[] {
  const problems: Problem[] = [];
  const report: Report = (meant, message, hint) => {
    const path = asWritten(source.value, meant);
    problems.push({ ...source.locate(path, 'value'), path: formatPath(path), message, hint });
  };
  for (const { path, message, hint } of storeFaults) report(path, message, hint);
  checkNames(file, source, report);
  for (const i of file.policies.keys()) checkMatch(file, i, report);
  checkRoutes(file, source, report);
  checkAddresses(file, report);
  checkAlerts(file.alerts, report);
  checkApi(file, report);
  checkAdmin(file.admin, report);
  checkInstances(file, report);
  checkWorkers(file, report);
  checkLists(file, report);
  if (problems.length === 0) checkWithLibrary(file, report);
  return problems;
}

/** A single value may stand for a list of one: then the file has no index where the checked form has. */
function asWritten(root: unknown, path: Path): Path {
  const written: (string | number)[] = [];
  for (const part of path) {
    if (typeof part === 'string' || Array.isArray(valueAt(root, written))) written.push(part);
  }
  return written;
}

function checkNames({ policies }: FileConfig, source: Source, report: Report): void {
  policies.forEach(({ name }, i) => {
    const first = policies.findIndex((policy) => policy.name === name);
    if (first === i) return;
    const { line } = source.locate(['policies', first, 'name'], 'value');
    report(
      ['policies', i, 'name'],
      `the name "${name}" is used twice (first on line ${line})`,
      'names are part of the stored keys: give each policy its own',
    );
  });
}

/** Paths are matched after normalisation, so a pattern that normalisation would change matches nothing. */
function checkMatch({ policies }: FileConfig, i: number, report: Report): void {
  const match = policies[i]?.match;
  for (const path of match?.path ?? []) {
    const fault = patternFault(path);
    if (fault !== undefined) report(['policies', i, 'match', 'path'], `no request can match "${path}": ${fault}`);
  }
  for (const host of match?.hosts ?? []) {
    if (/:\d+$/.test(host) && !host.endsWith(']')) {
      report(
        ['policies', i, 'match', 'hosts'],
        `no request can match "${host}": hosts are compared without port`,
        'remove the port',
      );
    }
  }
}

function patternFault(path: string): string | undefined {
  if (/[?#]/.test(path)) return 'patterns hold no query or fragment';
  if (path.includes('//')) return 'repeated slashes are merged before matching';
  if (/(^|\/)\.{1,2}(\/|$)/.test(path)) return 'dot segments are resolved before matching';
  return undefined;
}

function checkRoutes({ gateway }: FileConfig, source: Source, report: Report): void {
  const routes = gateway?.routes ?? [];
  routes.forEach(({ path }, i) => {
    const fault = patternFault(path);
    if (fault !== undefined) report(['gateway', 'routes', i, 'path'], `no request can match "${path}": ${fault}`);
    const earlier = takenBy(routes, i);
    if (earlier < 0) return;
    const { line } = source.locate(['gateway', 'routes', earlier], 'key');
    report(
      ['gateway', 'routes', i],
      `never reached: the route on line ${line} takes every such request`,
      'put the more specific route first',
    );
  });
}

function checkAddresses({ gateway, api, envoy, admin }: FileConfig, report: Report): void {
  const listens = Object.entries({
    gateway: gateway?.listen,
    api: api?.listen,
    envoy: envoy?.listen,
    admin: admin?.listen,
  });
  if (listens.every(([, listen]) => listen === undefined)) {
    report(
      [],
      'nothing to serve: expected a gateway, api, envoy or admin section',
      'such as gateway: { listen: 127.0.0.1:8080, routes: [{ path: /, upstream: echo }] }',
    );
  }
  listens.forEach(([name, listen], i) => {
    const isSame = ([, other]: (typeof listens)[number]): boolean =>
      other !== undefined && other.port !== 0 && other.port === listen?.port && other.host === listen.host;
    const first = listens.slice(0, i).find(isSame);
    if (first !== undefined) report([name, 'listen'], `the ${first[0]} listens there already`, 'choose another port');
  });
}

/** Somebody who counts processes wants them to share the limits, which only mode `local` does, or leases. */
function checkInstances({ instances, onStoreFailure, policies, envoy }: FileConfig, report: Report): void {
  if (instances === 'auto' || policies.length === 0) return;
  if (envoy !== undefined && (envoy.onStoreFailure ?? onStoreFailure) === 'local') return;
  if (policies.some((policy) => policy.lease !== undefined || (policy.onStoreFailure ?? onStoreFailure) === 'local'))
    return;
  report(
    ['instances'],
    'changes nothing: no policy has onStoreFailure: local or a lease',
    'remove it, or choose local',
  );
}

function checkWorkers({ workers, store }: FileConfig, report: Report): void {
  if (store.url !== 'memory' || workers === 'auto' || workers === 1) return;
  report(
    ['workers'],
    'each worker would count alone: with store: memory there can be only one',
    'set store: redis://127.0.0.1:6379 or another shared store, or workers: 1',
  );
}

/** Without policies there is nobody to ask. */
function checkLists({ allow, deny, policies }: FileConfig, report: Report): void {
  if (policies.length > 0) return;
  const hint = 'add a policy, such as one in shadow mode';
  if (allow !== undefined) report(['allow'], 'changes nothing: there are no policies', 'remove it');
  if (deny !== undefined) report(['deny'], 'is not enforced: there are no policies', hint);
}

/** The library judges its own settings, one policy at a time, so that each fault is found with its place. */
function checkWithLibrary(file: FileConfig, report: Report): void {
  // How many processes there are concerns the policies together.
  const { instances: _, allow, deny, ...options } = toGateOptions(file);
  const lists = { ...(allow === undefined ? {} : { allow }), ...(deny === undefined ? {} : { deny }) };
  const general = new Set<string>();
  let isFaulty = false;
  options.policies.forEach((policy, i) => {
    const fault = faultOf({ ...options, ...(i === 0 ? lists : {}), policies: [policy] });
    if (fault === undefined) return;
    isFaulty = true;
    const [message = '', hint] = fault.message.split(/; (.*)/s);
    if (fault.path[0] === 'policies') report(['policies', i, ...fault.path.slice(2)], message, hint);
    else if (!general.has(message)) {
      general.add(message);
      report(fault.path, message, hint);
    }
  });
  // What each may be by itself may clash with another.
  if (options.policies.length < 2 || isFaulty) return;
  const clash = faultOf(options);
  if (clash === undefined) return;
  const [message = '', hint] = clash.message.split(/; (.*)/s);
  report(clash.path, message, hint);
}

function faultOf(options: GateOptions<IncomingMessage>): { readonly path: Path; readonly message: string } | undefined {
  try {
    void createGate(options).close();
    return undefined;
  } catch (error) {
    const field = isComportaError(error) ? error.field : '';
    const message = error instanceof Error ? error.message : String(error);
    return {
      path: parsePath(field),
      message: inFile(message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message),
    };
  }
}

/** A file holds no functions, which only the library takes. */
function inFile(message: string): string {
  return message.replace(', a list of them or a function', ' or a list of them');
}
