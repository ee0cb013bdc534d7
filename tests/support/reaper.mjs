// Ends what its parent started, once the parent is gone: its standard input closes then, however the parent died.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

const live = new Map();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const { pid, folder, ended } = JSON.parse(line);
  if (ended) live.delete(pid);
  else live.set(pid, folder);
}

for (const pid of live.keys()) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It had ended already.
  }
}
for (const folder of live.values()) if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
