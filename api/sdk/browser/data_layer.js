// The page's data layer: the queue of Google Analytics 4 and Tag Manager, read, watched and added to.

/** @type {() => unknown[]} */
export const dataLayer = () => {
  const page = /** @type {{ dataLayer?: unknown[] }} */ (/** @type {unknown} */ (window));
  page.dataLayer ??= [];
  return page.dataLayer;
};

/**
 * Read each entry, those that are there included.
 *
 * @param {(entry: any) => void} read
 * @returns {() => void} looks whether the page has put another queue in its place, and reads that
 */
export const watchEntries = (read) => {
  /** @type {unknown[] | undefined} */
  let watched;
  const look = () => {
    const layer = dataLayer();
    if (layer === watched || !Array.isArray(layer)) return;
    watched = layer;
    const push = layer.push;
    layer.push = (...entries) => {
      entries.forEach(read);
      return push.apply(layer, entries);
    };
    [...layer].forEach(read);
  };
  look();
  return look;
};
