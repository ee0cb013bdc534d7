/** One entry per round. */
export type Figures = readonly Readonly<Record<string, number>>[];

export interface Data {
  readonly blocks: readonly {
    readonly topology: string;
    readonly mode: string;
    readonly title: string;
    readonly inFlight?: number;
    readonly results: Readonly<Record<string, Figures>>;
  }[];
  readonly space: Readonly<Record<string, { readonly one: number; readonly full: number }>>;
}

export type Subjects = Readonly<
  Record<string, { readonly by: string; readonly algorithm: string; readonly modes?: readonly string[] }>
>;

export interface Loss {
  readonly place: string;
  readonly ahead: Readonly<
    Record<string, { readonly count: number; readonly name: string; readonly factor: number } | undefined>
  >;
}

export function lossesOf(data: Data, subjects: Subjects, algorithm: string): readonly Loss[];
