import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { monotonicMs } from '../time.js';
import type { Registry } from './registry.js';

const RESOLUTION_MS = 20;
const WINDOW_MS = 10_000;
const NS = 1e9;

/** Memory, processor time and event loop of this process. The returned function ends the measuring. */
export function measureProcess(registry: Registry): () => void {
  const read = (name: string, unit: string, description: string, value: () => number): void => {
    registry.createObservableGauge(name, { unit, description }).addCallback((observer) => observer.observe(value()));
  };
  read('process.resident_memory', 'By', 'Memory of the process.', () => process.memoryUsage.rss());
  read('nodejs.heap_size_used', 'By', 'JavaScript heap in use.', () => process.memoryUsage().heapUsed);
  const uptime = { unit: 's', description: 'Time since the process started.' };
  registry.createObservableGauge('process.uptime', uptime).addCallback(({ observe }) => observe(process.uptime()));
  const cpu = registry.createObservableCounter('process.cpu', { unit: 's', description: 'Processor time used.' });
  cpu.addCallback((observer) => {
    const { user, system } = process.cpuUsage();
    observer.observe(user / 1e6, { mode: 'user' });
    observer.observe(system / 1e6, { mode: 'system' });
  });
  return measureEventLoop(registry);
}

/** What a timer is late by says how long requests wait for this process. */
function measureEventLoop(registry: Registry): () => void {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let seen: readonly (readonly [stat: string, seconds: number])[] = ['p50', 'p99', 'max'].map((stat) => [stat, 0]);
  let startMs = monotonicMs();
  const options = { unit: 's', description: 'Delay of the event loop over the last 10 s or more.' };
  registry.createObservableGauge('nodejs.eventloop.delay', options).addCallback(({ observe }) => {
    // Several may scrape: none may take the figures away from the others.
    if (delays.count > 0) seen = readDelays(delays);
    for (const [stat, seconds] of seen) observe(seconds, { stat });
    if (monotonicMs() - startMs < WINDOW_MS) return;
    startMs = monotonicMs();
    delays.reset();
  });
  return () => void delays.disable();
}

function readDelays(delays: IntervalHistogram): readonly (readonly [stat: string, seconds: number])[] {
  const lateness = (ns: number): number => Math.max(0, ns / NS - RESOLUTION_MS / 1000);
  return [
    ['p50', lateness(delays.percentile(50))],
    ['p99', lateness(delays.percentile(99))],
    ['max', lateness(delays.max)],
  ];
}
