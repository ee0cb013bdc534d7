export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
  readonly by: 'comporta' | 'peer' | 'reference';
}

export function barChart(chart: {
  readonly title: string;
  readonly unit: string;
  readonly rows: readonly Bar[];
}): string;
