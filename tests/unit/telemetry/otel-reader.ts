import {
  AggregationTemporality,
  type DataPoint,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { onTestFinished } from 'vitest';

/** OpenTelemetry's own meter, and what it has recorded. */
export interface Recorded {
  readonly meter: ReturnType<MeterProvider['getMeter']>;
  /** Points of one metric as `label=value,…` to number; of a histogram, how many it took. */
  points(name: string): Promise<Readonly<Record<string, number>>>;
  /** Names, with the units. */
  names(): Promise<Readonly<Record<string, string>>>;
}

export function record(): Recorded {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => provider.shutdown());
  const read = async () => {
    exporter.reset();
    await reader.forceFlush();
    return exporter.getMetrics().flatMap((resource) => resource.scopeMetrics.flatMap(({ metrics }) => metrics));
  };
  return {
    meter: provider.getMeter('test'),
    points: async (name) => {
      const points = (await read()).find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
      return Object.fromEntries(points.map((point) => [labelsOf(point.attributes), numberOf(point)]));
    },
    names: async () =>
      Object.fromEntries((await read()).map(({ descriptor }) => [descriptor.name, descriptor.unit] as const)),
  };
}

const labelsOf = (attributes: DataPoint<unknown>['attributes']): string =>
  Object.entries(attributes)
    .map(([name, value]) => `${name.replace('comporta.', '')}=${value}`)
    .sort()
    .join(',');

function numberOf({ value }: DataPoint<unknown>): number {
  return typeof value === 'number' ? value : (value as { readonly count: number }).count;
}
