// Stages of a page's life: prerendered, visible, hidden, restored from the back-forward cache.

/**
 * Call back once the page is more than prerendered: at once, as a rule.
 *
 * @param {() => void} callback
 */
export const whenActive = (callback) => {
  if (document.prerendering)
    document.addEventListener("prerenderingchange", callback, { once: true });
  else callback();
};

/**
 * Call back when the page may be about to end.
 *
 * @param {() => void} callback
 */
export const onHidden = (callback) => {
  addEventListener("pagehide", callback);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") callback();
  });
};

/**
 * Call back when the page is shown again from the back-forward cache.
 *
 * @param {() => void} callback
 */
export const onRestored = (callback) =>
  addEventListener("pageshow", (event) => {
    if (event.persisted) callback();
  });
