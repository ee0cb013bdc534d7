import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { resolveAdmin } from '../admin/settings.js';
import { resolveApi } from '../api/settings.js';
import { resolveEnvoy } from '../envoy/settings.js';
import { type ServerConfig, toServerConfig } from './config.js';
import type { Environment } from './environment.js';
import { toProblems } from './issues.js';
import type { Problem } from './problem.js';
import { configSchema } from './schema.js';
import { checkMeaning } from './semantics.js';
import { readSource } from './source.js';
import { type ReadFile, resolveStore } from './store.js';

export type Loaded = { readonly config: ServerConfig } | { readonly problems: readonly Problem[] };

/** Without a file of its own a text names others from where the process runs. */
const readHere: ReadFile = (name) => readFileSync(name, 'utf8');

/**
 * A configuration that may run, or everything that is wrong with the text, in the order of its lines. `at` says where
 * files are that it names. Never throws.
 */
export function loadConfig(
  text: string,
  environment: Environment,
  read: ReadFile = readHere,
  at: (name: string) => string = resolve,
): Loaded {
  const source = readSource(text, environment);
  if (source.problems.length > 0) return { problems: inOrder(source.problems) };
  if (source.value === null || source.value === undefined) {
    return {
      problems: [
        {
          line: 1,
          column: 1,
          path: '',
          message: 'the file is empty',
          hint: 'start from examples/quickstart/comporta.yaml',
        },
      ],
    };
  }
  const parsed = configSchema.safeParse(source.value);
  if (!parsed.success) return { problems: inOrder(toProblems(parsed.error.issues, source)) };
  const store = resolveStore(parsed.data.store, read);
  const api = resolveApi(parsed.data.api, read);
  const envoy = resolveEnvoy(parsed.data.envoy, at);
  const admin = resolveAdmin(parsed.data.admin, read);
  const faults = [store, api, envoy, admin].flatMap((section) => section.faults);
  const problems = checkMeaning(parsed.data, source, faults);
  if (problems.length + envoy.problems.length > 0)
    return { problems: [...inOrder(problems), ...inOrder(envoy.problems)] };
  return { config: toServerConfig(parsed.data, store.settings, api.settings, envoy.settings, admin.settings) };
}

const inFiles = (a: Problem, b: Problem): number => (a.file ?? '').localeCompare(b.file ?? '');

/** Nobody reads more at once. */
const PROBLEMS_MAX = 100;

function inOrder(problems: readonly Problem[]): readonly Problem[] {
  const sorted = [...problems].sort((a, b) => inFiles(a, b) || a.line - b.line || a.column - b.column);
  const next = sorted[PROBLEMS_MAX];
  if (next === undefined) return sorted;
  const { line, column } = next;
  return [...sorted.slice(0, PROBLEMS_MAX), { line, column, path: '', message: 'and more', hint: undefined }];
}
