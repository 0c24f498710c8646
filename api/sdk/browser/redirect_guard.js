// Redirects: once for an experiment, from a page that nobody has seen yet, with the referrer kept.

import { whenActive } from "./lifetime.js";
import { readObject, session } from "./storage.js";
import { addStyles } from "./stylesheet.js";
import { handOver } from "./visitor.js";

const AGAIN_AFTER_MS = 10_000;
// A target that never answers leaves the page that is there.
const HIDDEN_MS = 5_000;

/** @type {() => Record<string, number>} */
const recent = () => readObject("redirects");

/** @type {(address: string) => string} */
const comparable = (address) => address.split("#")[0]?.replace(/\/$/, "") ?? "";

/** A click may lead to the same redirect again. */
export const allowRedirects = () => session.remove("redirects");

/**
 * Whether a redirect leads anywhere else, and was not made just now.
 *
 * @param {string} experimentId
 * @param {string} target
 */
export const mayRedirect = (experimentId, target) =>
  comparable(target) !== comparable(location.href) &&
  !(Date.now() - (recent()[experimentId] ?? 0) < AGAIN_AFTER_MS);

/** Hide the page that is about to be left; one that is not left, or comes back, is shown. */
export const hide = () => {
  const show = addStyles("html{visibility:hidden!important}", [], () => {});
  whenActive(() => setTimeout(show, HIDDEN_MS));
  addEventListener("pageshow", (event) => event.persisted && show());
};

/**
 * Leave for the target.
 *
 * @param {string} experimentId
 * @param {string} target
 */
export const leave = (experimentId, target) => {
  session.set("redirects", JSON.stringify({ ...recent(), [experimentId]: Date.now() }));
  session.set("referrer", JSON.stringify([target.split("#")[0], referrer()]));
  location.replace(handOver(target));
};

/** @type {string | undefined} */
let kept;

/**
 * The page from which the visitor came, also through a redirect of ours.
 *
 * @returns {string}
 */
export const referrer = () => {
  if (kept === undefined) {
    const { 0: target, 1: before } = readObject("referrer");
    kept = target && target === location.href.split("#")[0] ? before : document.referrer;
  }
  return /** @type {string} */ (kept);
};
