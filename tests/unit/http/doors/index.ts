import { readdirSync } from 'node:fs';
import type { StartApp } from 'comporta/testing';

const names = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file !== 'index.ts')
  .map((file) => file.slice(0, -'.ts'.length));

const open = async (name: string) => [name, ((await import(`./${name}.ts`)) as { start: StartApp }).start] as const;

/** The application that the published suite asks for, behind each adapter: one file each in this folder. */
export const doors: Readonly<Record<string, StartApp>> = Object.fromEntries(await Promise.all(names.map(open)));
