export interface Bundle {
  readonly text: string;
  readonly bytes: number;
  readonly gzipBytes: number;
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
}

export function bundle(code: string): Promise<Bundle>;

export const BUDGETS: Readonly<Record<string, { readonly code: string; readonly gzipBytes: number }>>;
