// Consent: what the visitor, the browser's signals and the project's settings allow.

import { readBoth, writeBoth } from "./storage.js";

/** @typedef {"granted" | "denied" | "pending"} Consent */

/**
 * Read what holds now: an answer to the page itself wins over that of a consent platform.
 *
 * @param {import("./config.js").Config} config
 * @param {unknown} isPreview whether variants are shown without counting
 * @param {Consent} [said] by the project's consent platform
 * @returns {Consent}
 */
export const readConsent = ({ settings, facts }, isPreview, said) => {
  const { respect_dnt, respect_gpc, require_consent, bot_filtering } = settings;
  const isRefused =
    isPreview ||
    (respect_dnt && navigator.doNotTrack === "1") ||
    (respect_gpc && navigator.globalPrivacyControl) ||
    (bot_filtering && (navigator.webdriver || facts?.is_bot));
  if (isRefused) return "denied";
  const stored = readBoth("consent");
  if (stored === "granted" || stored === "denied") return stored;
  return said ?? (require_consent ? "pending" : "granted");
};

/** @type {(isGranted: boolean, settings: import("./config.js").Settings) => void} */
export const keepConsent = (isGranted, { cookie_domain }) =>
  writeBoth("consent", isGranted ? "granted" : "denied", cookie_domain);
