// Paint: whether the visitor may have seen the page before the script came.

import { element } from "./script.js";

/**
 * Tell whether a page has shown its contents, or may have in a browser that does not tell.
 *
 * A page that waits for nothing (a timeout of 0, of the tag or else of the project) has agreed to that. In a tab
 * that is hidden, or prerendered, nothing has been seen however late it is.
 *
 * @param {{ late?: boolean, reveal?: () => void } | undefined} stub
 */
export const isPainted = (stub) => {
  if (!+(element?.dataset.timeout ?? CONFIG.settings.anti_flicker_timeout_ms)) return false;
  if (stub?.late && !document.hidden) return true;
  if (window.PerformancePaintTiming)
    return performance.getEntriesByName("first-contentful-paint").length > 0;
  return Boolean(
    (!stub?.reveal && document.readyState !== "loading") || document.body?.contains(element),
  );
};
