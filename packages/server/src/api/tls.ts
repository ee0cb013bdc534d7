import { z } from 'zod';
import { type Fault, type ReadFile, readTlsFiles, type TlsTexts } from '../config/store.js';

/** Names of files, as a section of the configuration has them. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | undefined;
}

export const tlsSchema: z.ZodType<TlsFiles> = z.strictObject({
  cert: z.string().min(1).describe("File with the server's certificate chain, in PEM."),
  key: z.string().min(1).describe('File with its key, in PEM.'),
  ca: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File with the authorities whose certificates callers must show. None are asked for when left out; to take it away takes a restart.',
    ),
});

/** A certificate that may be renewed while it is in use. */
export interface RenewableTls extends TlsTexts {
  /** Reads the files again; throws when they cannot be used. */
  reread(): TlsTexts;
}

/** Puts files of a section in place of their names, and says which cannot be used. */
export function resolveTls(
  section: string,
  files: TlsFiles | undefined,
  read: ReadFile,
): { readonly tls: RenewableTls | undefined; readonly faults: readonly Fault[] } {
  if (files === undefined) return { tls: undefined, faults: [] };
  const faults: Fault[] = [];
  const texts = readTlsFiles(section, files, read, faults);
  const reread = (): TlsTexts => {
    const later: Fault[] = [];
    const found = readTlsFiles(section, files, read, later);
    const [fault] = later;
    if (fault !== undefined) throw new Error(`${fault.path.join('.')}: ${fault.message}`);
    return found;
  };
  return { tls: { ...texts, reread }, faults };
}
