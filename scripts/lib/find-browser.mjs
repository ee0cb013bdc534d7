// Where the browser of this machine is. No dependencies.
import { which } from './find-servers.mjs';

/** Full path of a Chromium, or undefined. */
export function findBrowser() {
  return ['chromium', 'chromium-browser', 'google-chrome'].map(which).find((path) => path !== undefined);
}
