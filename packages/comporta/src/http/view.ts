/** The type lives with the code that reads subjects from requests; adapters know it by this name. */
export type { RequestView } from '../identity/view.js';
