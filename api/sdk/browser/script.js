// The script's own address: where requests go.

const element = /** @type {HTMLScriptElement | null} */ (
  document.currentScript || document.getElementById("truelift")
);
const address = element ? element.src.split("/sdk/v1/") : [];

/** Address of the service, without a slash at its end. */
export const base = address.length > 1 ? /** @type {string} */ (address[0]) : location.origin;

/** Nonce of the page's policy, which scripts of ours carry too. */
export const nonce = element?.nonce ?? "";
