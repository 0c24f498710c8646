// The time of a page: by the steady clock while the page lives, so that events that wait keep their order.

// A sleep of the computer, which the steady clock may have missed; less or more is a clock that was set.
const LEAST_SLEEP_MS = 60_000;
const MOST_SLEEP_MS = 86_400_000;

/** @type {number | undefined} */
let origin;

/** @type {() => number} in ms since 1970 */
export const now = () => {
  // At the first call: on workers at the edge no clock runs while modules load.
  origin ??= Date.now() - performance.now();
  const ahead = Date.now() - origin - performance.now();
  if (ahead > LEAST_SLEEP_MS && ahead < MOST_SLEEP_MS) origin += ahead;
  return origin + performance.now();
};

/** @type {(ms: number) => string} */
export const timestamp = (ms) => new Date(ms).toISOString();
