import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { documentsOf, type Manifest } from '../../support/manifests.js';

const root = join(import.meta.dirname, '../../..');
const read = (name: string): unknown => documentsOf(readFileSync(join(root, name), 'utf8'))[0];

/** Every object in a value that has a field of this name, with what it holds there. */
function findAll(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Object.entries(value).flatMap(([key, inner]) => [
    ...(key === name ? [inner] : []),
    ...findAll(inner, name),
  ]);
  return own;
}

const example = read('examples/envoy/envoy.yaml');
const services = documentsOf<Manifest>(readFileSync(join(root, 'deploy/kubernetes/service.yaml'), 'utf8'));
const hasPort = (name: string, port: number): boolean =>
  services.some(({ metadata, spec }) => metadata.name === name && (spec.ports ?? []).some((one) => one.port === port));

/** The filter that asks, without the name of the cluster, which each place has its own of. */
const filterOf = (value: unknown): unknown =>
  findAll(value, 'typed_config')
    .filter((config) => findAll(config, 'rate_limit_service').length === 1 && findAll(config, 'domain').length === 1)
    .map((config) => JSON.parse(JSON.stringify(config).replace(/"cluster_name":"[^"]*"/, '"cluster_name":""')))
    .at(-1);

test.each(['deploy/envoy/envoy.yaml', 'deploy/istio/envoyfilter.yaml'])(
  '%s asks as the example does that a real Envoy is tested with',
  (name) => {
    expect(filterOf(example)).toHaveProperty('domain', 'shop');
    expect(filterOf(read(name))).toEqual(filterOf(example));
    expect(findAll(read(name), 'rate_limits')).toEqual(findAll(example, 'rate_limits'));
  },
);

test('Envoy watches the health of the service as in the example, and speaks HTTP/2 to it', () => {
  for (const part of ['health_checks', 'typed_extension_protocol_options']) {
    expect(findAll(example, part)).toHaveLength(1);
    expect(findAll(read('deploy/envoy/envoy.yaml'), part)).toEqual(findAll(example, part));
  }
});

test('the addresses are those of the Services', () => {
  const text = readFileSync(join(root, 'deploy/envoy/envoy.yaml'), 'utf8');
  const [, envoy = '', port] = /address: (comporta\S*), port_value: (\d+)/.exec(text) ?? [];
  expect(hasPort(envoy, Number(port))).toBe(true);
  const istio = readFileSync(join(root, 'deploy/istio/envoyfilter.yaml'), 'utf8');
  const [, meshPort, mesh = ''] = /outbound\|(\d+)\|\|([^.]+)\.default\.svc\.cluster\.local/.exec(istio) ?? [];
  expect(hasPort(mesh, Number(meshPort))).toBe(true);
});
