// Installs Debian packages without changing the machine's apt settings and without starting services.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SOURCES = '/etc/apt/sources.list';
const PARTS = '/etc/apt/sources.list.d';
const POLICY = '/usr/sbin/policy-rc.d';

export function refreshIndex(options = []) {
  apt(['update', ...options]);
}

/** Whether apt knows a version of the package that it could install. */
export function hasCandidate(name, options = []) {
  const text = execFileSync('apt-cache', [...options, 'policy', name], { encoding: 'utf8' });
  return /Candidate: (?!\(none\))\S/.test(text);
}

/** Installs packages; their services are kept from starting, since tests run servers of their own. */
export function install(names, options = []) {
  const ours = !existsSync(POLICY);
  if (ours) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    apt(['install', '-y', '--no-install-recommends', ...options, ...names]);
  } finally {
    if (ours) rmSync(POLICY);
  }
}

/**
 * Calls `use` with apt options that add the backports of this release, or with undefined when this
 * machine's own sources do not show where they would be.
 */
export function withBackports(use) {
  const line = backportsLine();
  if (line === undefined) return use(undefined);
  const folder = mkdtempSync(join(tmpdir(), 'comporta-apt-'));
  try {
    const list = join(folder, 'sources.list');
    writeFileSync(list, `${existsSync(SOURCES) ? readFileSync(SOURCES, 'utf8') : ''}\n${line}\n`);
    return use(['-o', `Dir::Etc::sourcelist=${list}`]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The mirror is the one that the machine already uses, so that proxies and air gaps keep working. */
function backportsLine() {
  const release = readFileSync('/etc/os-release', 'utf8');
  const codename = /^VERSION_CODENAME=(\S+)/m.exec(release)?.[1];
  if (codename === undefined || !/^ID=debian$/m.test(release)) return undefined;
  const source = [...stanzaSources(), ...lineSources()].find(({ suites }) => suites.includes(codename));
  if (source === undefined) return undefined;
  const key = source.signedBy === undefined ? '' : `[signed-by=${source.signedBy}] `;
  return `deb ${key}${source.uri} ${codename}-backports main`;
}

function partTexts(extension) {
  if (!existsSync(PARTS)) return [];
  const names = readdirSync(PARTS).filter((name) => name.endsWith(extension));
  return names.map((name) => readFileSync(join(PARTS, name), 'utf8'));
}

/** Sources in the form of stanzas (`URIs: ...`). */
function stanzaSources() {
  const stanzas = partTexts('.sources').flatMap((text) => text.split(/\n\s*\n/));
  const field = (stanza, name) => new RegExp(`^${name}:[ \\t]*(.+)$`, 'mi').exec(stanza)?.[1]?.trim();
  const found = stanzas.map((stanza) => ({
    uri: field(stanza, 'URIs')?.split(/\s+/)[0],
    suites: field(stanza, 'Suites')?.split(/\s+/) ?? [],
    signedBy: field(stanza, 'Signed-By'),
  }));
  return found.filter(({ uri }) => uri !== undefined);
}

/** Sources in the form of lines (`deb [options] URI suite ...`). */
function lineSources() {
  const texts = [existsSync(SOURCES) ? readFileSync(SOURCES, 'utf8') : '', ...partTexts('.list')];
  const lines = texts.flatMap((text) => [...text.matchAll(/^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)/gm)]);
  return lines.map(([, options = '', uri, suite]) => ({
    uri,
    suites: [suite],
    signedBy: /signed-by=(\S+)/.exec(options)?.[1],
  }));
}

function apt(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', ['-q', '-o', 'Acquire::Retries=3', ...args], { env, stdio: 'pipe' });
}
