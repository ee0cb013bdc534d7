import { printHot } from './hot.js';
import { printOutage } from './outage.js';
import { printScale } from './scale.js';
import { printSlow } from './slow.js';
import { printSubjects } from './subjects.js';

/** Plays and prints; `part` shortens it. */
type Scenario = (seed: number, part: number, say: (text: string) => void) => Promise<void>;

export const scenarios: Readonly<Record<string, Scenario>> = {
  subjects: printSubjects,
  hot: printHot,
  outage: printOutage,
  slow: printSlow,
  scale: printScale,
};
