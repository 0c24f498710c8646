// Triggers other than `direct`: when an experiment that covers the page begins for its visitor.

/** @typedef {import("./config.js").Experiment} Experiment */
/** @typedef {() => void} Start */

/** Experiments that wait for their trigger on this page, by id. */
/** @type {Map<string, { experiment: Experiment, start: Start, stop: () => void }>} */
const armed = new Map();
/** Test keys that the page has activated, and functions that it wants called. */
/** @type {Map<string, ((start: Start) => void) | undefined>} */
const activated = new Map();

/** @type {(id: string) => void} */
export const disarm = (id) => {
  armed.get(id)?.stop();
  armed.delete(id);
};

/** @type {(id: string) => void} */
const fire = (id) => {
  const one = armed.get(id);
  disarm(id);
  one?.start();
};

/** @type {(experiment: Experiment) => () => void} */
const whenVisible = ({ id, trigger_selector }) => {
  const visible = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) fire(id);
  });
  const stop = PARTS.awaitElements?.(/** @type {string} */ (trigger_selector), (element) =>
    visible.observe(element),
  );
  return () => {
    stop?.();
    visible.disconnect();
  };
};

/** @type {(experiment: Experiment) => void} */
const callBack = ({ id, test_key, trigger }) => {
  if (!activated.has(test_key)) return;
  const callback = activated.get(test_key);
  if (callback) PARTS.call(callback, () => fire(id));
  else if (trigger === "manual") fire(id);
};

/**
 * Start an experiment when its trigger says so.
 *
 * @param {Experiment} experiment
 * @param {boolean | undefined} isNavigation whether the address has changed within the page
 * @param {Start} start
 */
export const arm = (experiment, isNavigation, start) => {
  const { id, trigger } = experiment;
  if (armed.has(id)) return;
  if (trigger === "url_change" && isNavigation) {
    start();
    return;
  }
  const one = { experiment, start, stop: () => {} };
  armed.set(id, one);
  if (trigger === "element_visible") one.stop = whenVisible(experiment);
  else callBack(experiment);
};

/**
 * Activate an experiment, now and on later pages that it covers; with a callback, when that calls its argument.
 *
 * @param {string} testKey
 * @param {((start: Start) => void)} [callback]
 */
export const activate = (testKey, callback) => {
  activated.set(testKey, callback);
  for (const { experiment } of [...armed.values()]) {
    const { test_key, trigger } = experiment;
    if (test_key === testKey && (trigger === "manual" || trigger === "callback"))
      callBack(experiment);
  }
};

export const listenForTriggers = () =>
  PARTS.onClick((path) => {
    for (const { experiment } of [...armed.values()]) {
      const { id, trigger, trigger_selector } = experiment;
      if (trigger === "click" && PARTS.isWithin(path, trigger_selector ?? "")) fire(id);
    }
  });
