#!/usr/bin/env node
import { runCli } from './run.js';

// A reader that goes away (`comporta serve | head`) must not take the gateway with it.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

runCli(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`comporta: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
