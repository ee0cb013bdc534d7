import type { faultFigures } from './lib/waits.mjs';
import type { Data, Subjects } from './losses.mjs';

type Fault = Readonly<Record<string, ReturnType<typeof faultFigures>>>;

interface Admitted {
  readonly most: number;
  readonly undecided: number;
}

export interface Run extends Data {
  readonly made: string;
  readonly command: string;
  readonly machine: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly plan: { readonly rounds: number; readonly sliceMs: number; readonly faultMs: number };
  readonly accuracy: Readonly<
    Record<string, { readonly hammer: Admitted & { readonly total: number }; readonly edge: Admitted }>
  >;
  readonly faults: { readonly frozen: Fault; readonly killed: Fault };
}

export function report(
  template: string,
  data: Run,
  subjects: Subjects,
  charts: Readonly<Record<string, string>>,
): string;
