// The script's own address: where requests go.

/** The script's own element. */
export const element = /** @type {HTMLScriptElement | null} */ (
  document.currentScript || document.getElementById("truelift")
);
const address = element ? element.src.split("/sdk/v1/") : [];

/** Address of the service, without a slash at its end. */
export const base = address.length > 1 ? /** @type {string} */ (address[0]) : location.origin;

/** Nonce of the page's policy, which scripts of ours carry too. */
export const nonce = element?.nonce ?? "";

/**
 * Address of an endpoint, with the project's key, and with consent where a script that acts has it.
 *
 * @param {string} name
 */
const endpoint = (name) =>
  `${base}/api/v1/sdk/${name}?key=${CONFIG.sdk_key}${CONFIG.settings.require_consent ? "&consent=granted" : ""}`;

export const trackAddress = endpoint("track");

/**
 * Send text to an endpoint; without a preflight, and without cookies.
 *
 * @param {string} name
 * @param {string} body
 * @param {RequestInit} [more]
 */
export const post = (name, body, more) =>
  fetch(endpoint(name), {
    method: "POST",
    body,
    headers: { "Content-Type": "text/plain" },
    credentials: "omit",
    ...more,
  });
