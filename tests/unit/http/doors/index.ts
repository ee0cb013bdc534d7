import { readdirSync } from 'node:fs';
import type { StartApp } from 'comporta/testing';

const names = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file !== 'index.ts')
  .map((file) => file.slice(0, -'.ts'.length));

interface Door {
  readonly start: StartApp;
  /** Why answers only go out as a whole here: what is said about answers in parts cannot be asked. */
  readonly buffers?: string;
}

const open = async (name: string) => [name, (await import(/* @vite-ignore */ `./${name}.ts`)) as Door] as const;
const opened = await Promise.all(names.map(open));

/** The application that the published suite asks for, behind each adapter: one file each in this folder. */
export const doors: Readonly<Record<string, StartApp>> = Object.fromEntries(
  opened.map(([name, { start }]) => [name, start]),
);

/** Whether answers go out in parts at a door. */
export function isStreaming(name: string): boolean {
  return opened.some(([other, { buffers }]) => other === name && buffers === undefined);
}
