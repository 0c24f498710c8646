// Navigation within a page: the Navigation API, else history's methods.

/**
 * Call back after the address has changed, and before the page that it leads to is painted.
 *
 * @param {() => void} callback
 */
export const onNavigation = (callback) => {
  let last = location.href;
  // Not within pushState: a framework may be in the middle of its own change.
  const later = () =>
    // A hidden page has no frames.
    (document.hidden ? setTimeout : requestAnimationFrame)(() => {
      if (location.href === last) return;
      last = location.href;
      callback();
    });
  if (window.navigation) {
    window.navigation.addEventListener("currententrychange", later);
    return;
  }
  for (const method of /** @type {const} */ (["pushState", "replaceState"])) {
    const original = history[method];
    history[method] = function (...given) {
      original.apply(this, given);
      later();
    };
  }
  addEventListener("popstate", later);
  addEventListener("hashchange", later);
};
