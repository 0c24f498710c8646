// Consent: what the visitor, the browser's signals and the project's settings allow.

import { isPreview } from "./preview_mode.js";
import { readBoth, writeBoth } from "./storage.js";

/** @typedef {"granted" | "denied" | "pending"} Consent */

/**
 * Read what holds now: an answer to the page itself wins over that of a consent platform.
 *
 * @param {Consent} [said] by the project's consent platform
 * @returns {Consent}
 */
export const readConsent = (said) => {
  const { respect_dnt, respect_gpc, require_consent, bot_filtering } = CONFIG.settings;
  const isRefused =
    isPreview() ||
    (respect_dnt && navigator.doNotTrack === "1") ||
    (respect_gpc && navigator.globalPrivacyControl) ||
    (bot_filtering && (navigator.webdriver || CONFIG.facts?.is_bot));
  if (isRefused) return "denied";
  const stored = readBoth("consent");
  if (stored === "granted" || stored === "denied") return stored;
  return said ?? (require_consent ? "pending" : "granted");
};

/** @type {(isGranted: boolean) => void} */
export const keepConsent = (isGranted) => writeBoth("consent", isGranted ? "granted" : "denied");
