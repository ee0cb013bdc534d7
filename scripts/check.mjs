// `npm run check`: all that can be known in seconds, without a server.
import { check } from './lib/steps.mjs';

const results = await check();
process.exit(results.every(({ ok }) => ok) ? 0 : 1);
