import type { Data, Subjects } from './losses.mjs';

export interface Goal {
  readonly words: string;
  readonly goal: string;
  readonly ours?: string;
  readonly other?: string;
  readonly measured?: { readonly median: number };
  readonly met?: boolean;
}

export function goalsOf(data: Data, subjects: Subjects): readonly Goal[];
