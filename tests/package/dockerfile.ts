import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { root } from './packed.js';

/** One line of a Dockerfile: `COPY` and what follows. */
interface Instruction {
  readonly name: string;
  readonly rest: string;
}

export interface Stage {
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

/** The stages of a Dockerfile, the last one with the name `final`. */
export function stagesOf(path: string): readonly Stage[] {
  const text = readFileSync(join(root, path), 'utf8').replace(/^#.*\n/gm, '');
  const lines = text.replace(/\\\n\s*/g, '').split('\n');
  const instructions = lines.flatMap((line) => {
    const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [{ name, rest }];
  });
  const stages: { name: string; instructions: Instruction[] }[] = [];
  for (const instruction of instructions) {
    const name = /\sAS\s+(\S+)$/.exec(instruction.rest)?.[1] ?? 'final';
    if (instruction.name === 'FROM') stages.push({ name, instructions: [] });
    else stages.at(-1)?.instructions.push(instruction);
  }
  return stages;
}

export interface Copy {
  readonly from: string | undefined;
  readonly sources: readonly string[];
  readonly target: string;
}

export function copiesOf({ instructions }: Stage): readonly Copy[] {
  return instructions.flatMap(({ name, rest }) => {
    if (name !== 'COPY') return [];
    const [, from, words = ''] = /^(?:--from=(\S+)\s+)?(.*)$/.exec(rest) ?? [];
    const paths = words.split(/\s+/);
    return [{ from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' }];
  });
}

/** Carries out what copies and installs in a stage, in a new folder in place of `/app`. */
export function buildStage(stage: Stage, folderOf: (from: string | undefined) => string): string {
  const folder = mkdtempSync(join(tmpdir(), 'comporta-image-'));
  for (const { from, sources, target } of copiesOf(stage)) {
    for (const source of sources) {
      const path = join(folderOf(from), source.replace(/^\/app\//, ''));
      const isInto = !statSync(path).isDirectory() && target.endsWith('/');
      const to = join(folder, target, isInto ? basename(source) : '');
      mkdirSync(join(to, '..'), { recursive: true });
      cpSync(path, to, { recursive: true, verbatimSymlinks: true });
    }
  }
  // What else a stage runs is about the image's own system, and would harm this one.
  for (const { name, rest } of stage.instructions) {
    if (name !== 'RUN' || !rest.startsWith('npm ci ')) continue;
    execFileSync('/bin/sh', ['-c', rest], { cwd: folder, stdio: 'pipe', env: { ...process.env, NODE_ENV: '' } });
  }
  return folder;
}

/** The words of an instruction in its JSON form. */
export function wordsOf(stage: Stage, name: string): readonly string[] {
  const { rest = '[]' } = stage.instructions.find((instruction) => instruction.name === name) ?? {};
  return JSON.parse(rest.slice(rest.indexOf('['))) as string[];
}
