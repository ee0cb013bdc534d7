import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { healthRoutes } from '../../packages/server/src/api/health.js';
import type { ServerConfig } from '../../packages/server/src/config/config.js';
import { type FileContent, loadFile } from '../../packages/server/src/config/file.js';

type Labels = Readonly<Record<string, string>>;

interface Port {
  readonly name?: string;
  readonly port?: number | string;
  readonly containerPort?: number;
  readonly targetPort?: string;
  readonly appProtocol?: string;
}

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly Port[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly resources?: { readonly requests?: object; readonly limits?: object };
  readonly securityContext?: object;
  readonly volumeMounts: readonly {
    readonly mountPath: string;
    readonly subPath?: string;
    readonly readOnly?: boolean;
  }[];
}

interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: { readonly runAsNonRoot?: boolean; readonly runAsUser?: number };
  readonly containers: readonly [Container];
  readonly volumes: readonly { readonly configMap: { readonly name: string } }[];
}

/** A Kubernetes object: those of its fields that tests look at. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Labels };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas?: number;
    readonly minReplicas?: number;
    readonly scaleTargetRef?: { readonly name: string };
    readonly selector?: Labels & { readonly matchLabels?: Labels };
    readonly podSelector?: { readonly matchLabels?: Labels };
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
    readonly ports?: readonly Port[];
    readonly ingress?: readonly { readonly ports: readonly Port[] }[];
    readonly egress?: readonly { readonly ports: readonly Port[] }[];
  };
}

/** Every document of a YAML file; throws when one cannot be read. */
export function documentsOf<T = unknown>(text: string): T[] {
  return parseAllDocuments(text, { merge: true }).map((document) => {
    for (const problem of [...document.errors, ...document.warnings]) throw problem;
    return document.toJS() as T;
  });
}

/** What the server makes of files that lie in one folder, `comporta.yaml` among them. */
export function loadFolder(files: Readonly<Record<string, string>>): FileContent {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-deploy-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return loadFile(join(folder, 'comporta.yaml'), ENVIRONMENT);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What the Secret holds. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  COMPORTA_STORE: 'redis-cluster://user:secret@valkey:6379',
  COMPORTA_API_TOKEN: 'a-token-of-some-length',
  COMPORTA_ADMIN_TOKEN: 'another-token-of-some-length',
};

/** What does not fit together in a set of objects that are applied as one. */
export function faultsOf(manifests: readonly Manifest[]): string[] {
  const only = (kind: string): Manifest | undefined => manifests.find((manifest) => manifest.kind === kind);
  const deployment = only('Deployment');
  const configMap = only('ConfigMap');
  if (deployment === undefined || configMap === undefined) return ['no Deployment or no ConfigMap'];
  const content = loadFolder(configMap.data ?? {});
  if ('problems' in content) return content.problems.map(({ message }) => `comporta.yaml: ${message}`);
  return [
    ...manifests.flatMap((manifest) => refFaults(manifest, deployment)),
    ...podFaults(deployment.spec.template.spec, configMap),
    ...doorFaults(deployment, content.config),
    ...endFaults(deployment.spec.template.spec, content.config),
  ];
}

const isPart = (part: Labels | undefined, whole: Labels): boolean =>
  part !== undefined && Object.entries(part).every(([name, value]) => whole[name] === value);

/** Names, labels and ports by which other objects find the Pods. */
function refFaults({ kind, metadata, spec }: Manifest, deployment: Manifest): string[] {
  const { labels } = deployment.spec.template.metadata;
  const named = new Set(deployment.spec.template.spec.containers[0].ports.map(({ name }) => name));
  const selectors: Readonly<Record<string, Labels | undefined>> = {
    Deployment: spec?.selector?.matchLabels,
    Service: spec?.selector,
    PodDisruptionBudget: spec?.selector?.matchLabels,
    NetworkPolicy: spec?.podSelector?.matchLabels,
  };
  const ports = [
    ...(spec?.ports ?? []).map(({ targetPort }) => targetPort),
    ...(spec?.ingress ?? []).flatMap((rule) => rule.ports.map(({ port }) => port)),
  ];
  const fault = (isFault: boolean, words: string) => (isFault ? [`${kind} ${metadata.name}: ${words}`] : []);
  return [
    ...fault(kind in selectors && !isPart(selectors[kind], labels), 'selects other Pods'),
    ...fault(
      spec?.scaleTargetRef !== undefined && spec.scaleTargetRef.name !== deployment.metadata.name,
      'scales nothing',
    ),
    ...fault((spec?.minReplicas ?? 2) < 2 || (spec?.replicas ?? 2) < 2, 'has less than two instances'),
    ...ports.flatMap((port) => fault(!named.has(String(port)), `names the port ${port}, which the Pod has not`)),
    ...fault(kind === 'Service' && (spec.ports ?? []).some(({ appProtocol }) => !appProtocol), 'lacks appProtocol'),
  ];
}

/** Whether an image names a version. */
export const isPinned = (image: string): boolean =>
  /^[^@\s]+(:(?!latest$)[\w.-]*\d[\w.-]*|@sha256:[0-9a-f]{64})$/.test(image);

function podFaults(pod: PodSpec, configMap: Manifest): string[] {
  const [container] = pod.containers;
  const wanted = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
  const paths = new Set(healthRoutes.map(({ path }) => path));
  const ports = new Set(container.ports.map(({ name }) => name));
  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
  const config = container.volumeMounts.find(({ mountPath }) => mountPath === '/etc/comporta');
  const checks: readonly (readonly [boolean, string])[] = [
    [isPinned(container.image), 'the image is not pinned'],
    [pod.automountServiceAccountToken === false, 'it has a token of the cluster'],
    [pod.securityContext?.runAsNonRoot === true && (pod.securityContext.runAsUser ?? 0) > 0, 'it may run as root'],
    [isDeepStrictEqual(container.securityContext, wanted), 'the container may more than it needs'],
    [container.resources?.requests !== undefined && container.resources.limits !== undefined, 'it lacks resources'],
    [
      probes.every((probe) => paths.has(probe?.httpGet?.path ?? '') && ports.has(probe?.httpGet?.port)),
      'a probe asks what nobody answers',
    ],
    [container.readinessProbe?.httpGet?.path === '/readyz', 'readiness is not asked for'],
    [container.args.includes('/etc/comporta/comporta.yaml'), 'it reads another file'],
    [config?.readOnly === true && config.subPath === undefined, 'the configuration could never change'],
    [pod.volumes.some((volume) => volume.configMap.name === configMap.metadata.name), 'the ConfigMap is not mounted'],
  ];
  return checks.flatMap(([isGood, words]) => (isGood ? [] : [`Pod: ${words}`]));
}

const DOORS = ['gateway', 'api', 'envoy'] as const;

/** Whether the Pod opens the ports on which the configuration listens, where others reach them. */
function doorFaults(deployment: Manifest, config: ServerConfig): string[] {
  const { ports } = deployment.spec.template.spec.containers[0];
  return DOORS.flatMap((name) => {
    const opened = ports.find((port) => port.name === name)?.containerPort;
    const listen = config[name]?.listen;
    if (opened !== listen?.port) return [`Pod: port ${name} is ${opened}, the configuration says ${listen?.port}`];
    return listen === undefined || listen.host === '0.0.0.0' ? [] : [`${name} listens on ${listen.host}`];
  });
}

/** Seconds between the last request that a drain waits for and the end by force. */
const SPARE_SECONDS = 5;

function endFaults(pod: PodSpec, { gateway, api, envoy }: ServerConfig): string[] {
  const pause = pod.containers[0].lifecycle?.preStop.sleep.seconds ?? 0;
  const timesMs = [gateway, envoy].map((door) => (door?.drainDelay ?? 0) + (door?.drainTime ?? 0));
  const drainMs = Math.max(...timesMs, api?.drainDelay ?? 0);
  const needed = pause + drainMs / 1000 + SPARE_SECONDS;
  const given = pod.terminationGracePeriodSeconds ?? 0;
  return [
    ...(pause > 0 ? [] : ['Pod: ends before load balancers hear of it']),
    ...(given >= needed ? [] : [`Pod: has ${given} s to end, and needs ${needed} s`]),
  ];
}
