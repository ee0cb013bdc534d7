import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { documentsOf, faultsOf, type Manifest } from '../../support/manifests.js';

const folder = join(import.meta.dirname, '../../../deploy/kubernetes');
const read = (name: string): Manifest[] => documentsOf<Manifest>(readFileSync(join(folder, name), 'utf8'));
const [kustomization] = documentsOf<{ readonly resources: readonly string[] }>(
  readFileSync(join(folder, 'kustomization.yaml'), 'utf8'),
);
const resources = kustomization?.resources ?? [];
const manifests = resources.flatMap(read);

/** The same objects with one text in place of another. */
function changed(from: string, to: string): Manifest[] {
  const text = JSON.stringify(manifests);
  expect(text).toContain(from);
  return JSON.parse(text.replaceAll(from, to)) as Manifest[];
}

test('the manifests fit together', () => {
  expect(faultsOf(manifests)).toEqual([]);
});

test('kustomize takes every file of the folder that needs nothing but Kubernetes', () => {
  const own = readdirSync(folder).filter((name) => !['kustomization.yaml', 'servicemonitor.yaml'].includes(name));
  expect([...resources].sort()).toEqual(own.sort());
});

test('there is one object of each kind that a deployment needs', () => {
  expect(manifests.map(({ kind }) => kind).sort()).toEqual([
    'ConfigMap',
    'Deployment',
    'HorizontalPodAutoscaler',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
    'Service',
  ]);
});

test('what may leave the Pod is DNS, the store and the upstream', () => {
  const policy = manifests.find(({ kind }) => kind === 'NetworkPolicy');
  const ports = policy?.spec.egress?.flatMap((rule) => rule.ports.map(({ port }) => port));
  expect(ports).toEqual([53, 53, 6379, 3000]);
});

test('the ServiceMonitor asks a port of the Service with a key that the Deployment takes from the Secret', () => {
  const text = readFileSync(join(folder, 'deployment.yaml'), 'utf8');
  const [monitor] = documentsOf<{
    readonly spec: {
      readonly endpoints: readonly [
        { readonly port: string; readonly authorization: { readonly credentials: object } },
      ];
    };
  }>(readFileSync(join(folder, 'servicemonitor.yaml'), 'utf8'));
  const [endpoint] = monitor?.spec.endpoints ?? [];
  expect(manifests.flatMap(({ spec }) => spec?.ports ?? []).map(({ name }) => name)).toContain(endpoint?.port);
  expect(endpoint?.authorization.credentials).toEqual({ name: 'comporta', key: 'COMPORTA_API_TOKEN' });
  expect(text).toContain('secretKeyRef: { name: comporta, key: COMPORTA_API_TOKEN }');
});

describe('a fault is found:', () => {
  it.each([
    ['another port', '0.0.0.0:8081', '0.0.0.0:9081', 'port api is 8081'],
    ['an address that nobody reaches', '0.0.0.0:8080', '127.0.0.1:8080', 'gateway listens on 127.0.0.1'],
    ['an unknown field', 'onStoreFailure:', 'onStoreFailed:', 'comporta.yaml:'],
    ['a broken file of domains', 'requests_per_unit', 'requests_per_units', 'comporta.yaml:'],
    ['a probe of nothing', '"/readyz"', '"/ready"', 'a probe asks'],
    ['a port without a name', '"targetPort":"envoy"', '"targetPort":"grpc"', 'names the port grpc'],
    ['a drain that is cut', 'drainTime: 10s', 'drainTime: 25s', 'has 30 s to end, and needs 38 s'],
    ['a drain delay that is cut', 'drainDelay: 3s', 'drainDelay: 30s', 'has 30 s to end, and needs'],
    ['an image without a version', 'comporta:0.1.0', 'comporta:latest', 'not pinned'],
    ['root', '"runAsNonRoot":true', '"runAsNonRoot":false', 'may run as root'],
    ['one instance', '"minReplicas":2', '"minReplicas":1', 'less than two instances'],
  ])('%s', (_, from, to, words) => {
    expect(faultsOf(changed(from, to)).join('\n')).toContain(words);
  });
});
