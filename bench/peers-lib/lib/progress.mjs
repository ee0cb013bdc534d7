const UNTOLD_S = 60;

/** Lines with the time that passed and the time that is left, from the seconds that the steps to come should take. */
export function progress(steps, { now = () => performance.now(), write = (line) => console.error(line) } = {}) {
  const startMs = now();
  const total = steps.reduce((sum, { seconds }) => sum + seconds, 0);
  let planned = 0;
  return (title) => {
    const index = steps.findIndex((step) => step.title === title);
    planned = steps.slice(0, index).reduce((sum, { seconds }) => sum + seconds, 0);
    const passed = (now() - startMs) / 1000;
    // What takes longer so far will go on to, which the first steps do not tell yet.
    const pace = Math.max(1, (passed + UNTOLD_S) / (planned + UNTOLD_S));
    const left = (total - planned) * pace;
    write(`[${passed.toFixed(0).padStart(4)} s, about ${left.toFixed(0)} s left] ${title}`);
  };
}
