// The page from which the visitor came, also through a redirect of ours.

import { readObject, session } from "./storage.js";

/** @type {string | undefined} */
let kept;

/** @returns {string} */
export const referrer = () => {
  if (kept === undefined) {
    const { 0: target, 1: before } = readObject(session, "referrer");
    kept = target && target === location.href.split("#")[0] ? before : document.referrer;
  }
  return /** @type {string} */ (kept);
};
