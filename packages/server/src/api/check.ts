import { refuseUnsettled } from 'comporta/http';
import { nearest } from '../config/nearest.js';
import type { Path } from '../config/problem.js';
import type { ApiConfig, FileConfig } from '../config/types.js';

type Report = (path: Path, message: string, hint?: string) => void;

/** What the `api` section says that cannot be meant beside the rest of the file. */
export function checkApi(file: FileConfig, report: Report): void {
  const { api } = file;
  if (api === undefined) return;
  checkExposure(api, report);
  if (api.authorize !== undefined && api.authorize !== false) checkAuthorize(file, api.authorize, report);
}

/** Whoever reaches the API may use up anybody's limits: only this machine may without a word of the owner. */
function checkExposure({ listen, tokens, tls, public: isPublic }: ApiConfig, report: Report): void {
  if (isPublic || tokens !== undefined || tls?.ca !== undefined || isLoopback(listen.host)) return;
  report(
    ['api', 'listen'],
    `${listen.host} can be reached from other machines, and nothing keeps strangers out`,
    `add api.tokens: ["$\{COMPORTA_API_TOKEN}"], or api.tls.ca, or listen on 127.0.0.1, or set api.public: true`,
  );
}

/** A host that no other machine reaches. */
export const isLoopback = (host: string): boolean =>
  host === '::1' || host === 'localhost' || /^127(\.\d{1,3}){3}$/.test(host) || /^::ffff:127\./i.test(host);

function checkAuthorize(
  { policies, trustedProxies }: FileConfig,
  names: true | readonly string[],
  report: Report,
): void {
  if (trustedProxies.length === 0) {
    report(
      ['api', 'authorize'],
      'serves nobody: only proxies in trustedProxies may tell what a request was',
      'add trustedProxies: [loopback], or the CIDRs of your proxies',
    );
  }
  if (names !== true) {
    const known = policies.map(({ name }) => name);
    names.forEach((name, i) => {
      if (known.includes(name)) return;
      const guess = nearest(name, known);
      const hint = guess === undefined ? `there are: ${known.join(', ')}` : `did you mean "${guess}"?`;
      report(['api', 'authorize', i], `there is no policy "${name}"`, hint);
    });
  }
  policies.forEach((policy, i) => {
    if (names !== true && !names.includes(policy.name)) return;
    const fault = unsettledFault(policy);
    if (fault !== undefined)
      report(['policies', i, fault.field], fault.message, 'name the other policies in api.authorize');
  });
}

function unsettledFault(
  policy: FileConfig['policies'][number],
): { readonly field: string; readonly message: string } | undefined {
  try {
    refuseUnsettled({ count: policy.count, limits: policy.limits, plans: policy.plans ?? {} }, 'api.authorize', '');
    return undefined;
  } catch (error) {
    const { field = '', message } = error as { readonly field?: string; readonly message: string };
    return { field, message: message.slice(field.length + 2).replace(/; $/, '') };
  }
}
