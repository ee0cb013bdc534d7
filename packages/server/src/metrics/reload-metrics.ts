import type { Attributes } from 'comporta/telemetry';
import type { Registry } from './registry.js';

/** What is read again while the server runs: its file, those of Envoy's domains, and certificates of a section. */
export type Reloadable = 'configuration' | 'domains' | `${'api' | 'admin' | 'envoy'}.tls`;

/** Notes that something was read again, and whether it is in force. */
export type OnReload = (what: Reloadable, isGood: boolean) => void;

type What = 'configuration' | 'domains' | 'certificate';

const whatOf = (what: Reloadable): What => (what === 'configuration' || what === 'domains' ? what : 'certificate');

/** Counts what was read again, and says what of it cannot be used at the moment. */
export function measureReloads(registry: Registry): OnReload {
  const reloads = registry.createCounter('comporta.reloads', {
    unit: '{reload}',
    description: 'Files that were read again while running, and whether they are in force.',
  });
  const labels = (what: What, isGood: boolean): Attributes => ({
    'comporta.what': what,
    'comporta.result': isGood ? 'good' : 'bad',
  });
  const all: readonly What[] = ['configuration', 'domains', 'certificate'];
  // An increase of the first failure needs the 0 before it.
  for (const what of all) for (const isGood of [true, false]) reloads.add(0, labels(what, isGood));
  const failing = new Set<Reloadable>();
  registry
    .createObservableGauge('comporta.reload.failing', {
      description: '1 while changed files cannot be used, and what was read before them stays in force; else 0.',
    })
    .addCallback(({ observe }) => {
      const found = [...failing].map(whatOf);
      for (const what of all) observe(found.includes(what) ? 1 : 0, { 'comporta.what': what });
    });
  return (what, isGood) => {
    reloads.add(1, labels(whatOf(what), isGood));
    if (isGood) failing.delete(what);
    else failing.add(what);
  };
}
