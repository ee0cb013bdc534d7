import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findDeployTools } from '../../scripts/lib/find-deploy-tools.mjs';
import { findEnvoy } from '../../scripts/lib/find-envoy.mjs';
import { which } from '../../scripts/lib/find-servers.mjs';
import { documentsOf, faultsOf, type Manifest } from '../support/manifests.js';
import { root, run } from './packed.js';

const { helm = '', validate = '', hadolint = '' } = findDeployTools();
const envoy = findEnvoy() ?? '';
const kubectl = which('kubectl') ?? '';
const CHART = 'deploy/helm/comporta';
const KUBERNETES = ['--kube-version', '1.37.0'];

/** Every switch of the chart, other than by default. */
const OTHERWISE = {
  config: { envoy: { listen: '0.0.0.0:9082', config: 'shop.yaml' }, api: { listen: '[::]:9081', public: true } },
  files: {
    'shop.yaml': { domain: 'shop', descriptors: [{ key: 'a', rate_limit: { requests_per_unit: 1, unit: 'day' } }] },
  },
  restartOnChange: true,
  autoscaling: { enabled: false },
  serviceMonitor: { enabled: true, tokenKey: '' },
  imagePullSecrets: [{ name: 'registry' }],
  podAnnotations: { team: 'edge' },
  tolerations: [{ key: 'edge', operator: 'Exists' }],
  nodeSelector: { disk: 'fast' },
};

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-chart-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'file.yaml');
  writeFileSync(file, text);
  return file;
}

const rendered = (values: object, release = 'comporta'): string =>
  execFileSync(helm, ['template', release, CHART, ...KUBERNETES, '--values', fileWith(JSON.stringify(values))], {
    cwd: root,
    encoding: 'utf8',
    stdio: 'pipe',
  });

describe.skipIf(helm === '')('the Helm chart', () => {
  it('passes the lint', async () => {
    expect(await run(root, helm, 'lint', '--strict', ...KUBERNETES, CHART)).toMatchObject({ ok: true });
  });

  it('makes objects that fit together', () => {
    expect(faultsOf(documentsOf<Manifest>(rendered({})))).toEqual([]);
  });

  it('does so with every other value, where ports follow from the configuration', () => {
    const values = { ...OTHERWISE, config: { ...OTHERWISE.config, api: { listen: '0.0.0.0:9081', public: true } } };
    const manifests = documentsOf<Manifest>(rendered(values, 'edge'));
    expect(faultsOf(manifests)).toEqual([]);
    const kinds = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(kinds).toEqual(expect.arrayContaining(['Service edge-comporta-envoy', 'ServiceMonitor edge-comporta']));
    expect(kinds.join()).not.toContain('HorizontalPodAutoscaler');
    const ports = manifests.flatMap(({ kind, spec }) => (kind === 'Service' ? (spec.ports ?? []) : []));
    expect(ports.map(({ port }) => port)).toEqual([80, 9081, 9082, 9082]);
  });

  it('takes the values that the page shows, and a section that is left out', () => {
    const page = readFileSync(join(root, 'docs/deployment.md'), 'utf8');
    const [, shown = ''] = /^```yaml\n(# my-values\.yaml\n.*?)^```$/ms.exec(page) ?? [];
    const [values = {}] = documentsOf<object>(shown);
    const manifests = documentsOf<Manifest>(rendered(values));
    expect(faultsOf(manifests)).toEqual([]);
    expect(manifests.find(({ kind }) => kind === 'ConfigMap')?.data).toHaveProperty('shop.yaml');
    const without = documentsOf<Manifest>(rendered({ config: { gateway: null } }));
    expect(faultsOf(without)).toEqual([]);
    expect(JSON.stringify(without)).not.toContain('gateway');
  });

  it('takes an address of IPv6 for its port', () => {
    expect(rendered(OTHERWISE)).toContain('{ name: api, containerPort: 9081 }');
  });

  it('restarts when the configuration changes, only where that is wanted', () => {
    const sum = (values: object) => /checksum\/config: (\w+)/.exec(rendered(values))?.[1];
    const changed = { ...OTHERWISE, config: { ...OTHERWISE.config, timeout: '20ms' } };
    expect([sum(OTHERWISE), sum(changed)]).toEqual([expect.any(String), expect.any(String)]);
    expect(sum(OTHERWISE)).not.toBe(sum(changed));
    expect(sum({})).toBeUndefined();
  });

  it.each([
    ['an unknown value', { replicas: 3 }, 'replicas'],
    ['a tag that moves', { image: { tag: 'latest' } }, 'tag'],
    ['an API that no probe reaches', { config: { api: { listen: '127.0.0.1:8081' } } }, 'listen'],
    ['no Secret', { secretName: '' }, 'secretName'],
    ['a second configuration', { files: { 'comporta.yaml': {} } }, "invalid propertyName 'comporta.yaml'"],
  ])('refuses %s', (_, values, words) => {
    expect(() => rendered(values)).toThrow(words);
  });
});

describe.skipIf(validate === '')('the schemas of Kubernetes', () => {
  it.skipIf(helm === '')('take what the chart makes', async () => {
    for (const values of [{}, OTHERWISE]) {
      // The ServiceMonitor belongs to the Prometheus operator.
      const file = fileWith(rendered({ ...values, serviceMonitor: { enabled: false } }));
      expect(await run(root, validate, '--strict', file)).toMatchObject({ ok: true });
    }
  });

  it.skipIf(kubectl === '')('take what kustomize makes', async () => {
    const { ok, output } = await run(root, kubectl, 'kustomize', 'deploy/kubernetes');
    expect(ok, output).toBe(true);
    expect(faultsOf(documentsOf<Manifest>(output))).toEqual([]);
    expect(await run(root, validate, '--strict', fileWith(output))).toMatchObject({ ok: true });
  });

  it('refuse a field that there is not', async () => {
    const text = readFileSync(join(root, 'deploy/kubernetes/poddisruptionbudget.yaml'), 'utf8');
    const file = fileWith(text.replace('maxUnavailable', 'mostUnavailable'));
    expect(await run(root, validate, '--strict', file)).toMatchObject({ ok: false });
  });
});

describe.skipIf(hadolint === '')('hadolint', () => {
  it('finds nothing in the Dockerfile', async () => {
    expect(await run(root, hadolint, 'deploy/docker/Dockerfile')).toEqual({ ok: true, output: '' });
  });
});

describe.skipIf(envoy === '')('a real Envoy', () => {
  it('takes the configuration for Kubernetes', async () => {
    const { ok, output } = await run(root, envoy, '--mode', 'validate', '-c', 'deploy/envoy/envoy.yaml');
    expect(ok, output).toBe(true);
  });
});
