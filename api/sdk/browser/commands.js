// Commands: the functions that a page calls, also before the script has loaded.

import { record } from "./events.js";
import { arrive, reconsider, variantOf } from "./experiments.js";
import { call, on, tell } from "./notices.js";
import { setUser } from "./page_visitor.js";
import { parts } from "./parts.js";

/** @typedef {import("./consent.js").Consent} Consent */
/** @typedef {{ setConsent(consent: Consent): void }} Commands */

/** @type {Record<string, (...given: any[]) => unknown>} */
const WITH_CONSENT = {
  variant(testKey, callback) {
    const variant = variantOf(testKey);
    if (callback) call(callback, variant);
    return variant;
  },
  track: (event_name, fields) => record("custom_event", { event_name, ...fields }),
  convert: (fields) => record("conversion", fields),
  revenue: (revenue_cents, fields) =>
    record("conversion", { event_name: "purchase", revenue_cents, ...fields }),
  identify(user_id, attributes) {
    setUser(user_id, attributes);
    if (user_id) record("identify", { attributes });
    reconsider();
  },
  activate: (testKey, callback) => parts.activate?.(testKey, callback),
};

/**
 * Replace the page's queue by the functions themselves.
 *
 * @param {object} page
 * @param {(isGranted: boolean) => void} onConsent
 * @returns {Commands}
 */
export const installCommands = (page, onConsent) => {
  /** @type {Consent} */
  let consent = "pending";
  /** @type {[string, any[]][]} */
  let waiting = [];

  /** @type {(name: string, given: any[]) => unknown} */
  const run = (name, given) => {
    if (name === "consent") return onConsent(given[0] === true || given[0] === "granted");
    if (name === "on") return on(given[0], given[1]);
    if (name === "peek") return consent === "granted" ? variantOf(given[0], true) : null;
    if (consent === "pending") waiting.push([name, given]);
    else {
      try {
        if (consent === "granted") {
          arrive();
          return WITH_CONSENT[name]?.(...given);
        }
        if (name === "variant") given[1]?.(null);
      } catch (error) {
        // One command that fails does not take the others with it.
        tell("error", { message: `${error}` });
      }
    }
    return null;
  };
  /** @type {any} */
  const truelift = (/** @type {string} */ name, /** @type {any[]} */ ...given) => run(name, given);
  for (const name of [...Object.keys(WITH_CONSENT), "consent", "on"]) {
    truelift[name] = (/** @type {any[]} */ ...given) => run(name, given);
  }
  truelift.loaded = true;
  Object.assign(page, { truelift });
  return {
    setConsent: (now) => {
      consent = now;
      if (now === "pending") return;
      const commands = waiting;
      waiting = [];
      for (const [name, given] of commands) run(name, given);
    },
  };
};
