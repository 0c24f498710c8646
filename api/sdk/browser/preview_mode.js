// Preview mode: the address, or an earlier page of the tab, asks to show variants without counting.

import { parts } from "./parts.js";
import { base, nonce } from "./script.js";
import { session } from "./storage.js";
import { loadScript } from "./trusted.js";

export const isPreview = () =>
  location.search.includes("truelift_preview=") || session.get("preview");

/** Load what shows the variants; the script itself does nothing then. */
export const loadPreview = () => {
  Object.assign(/** @type {any} */ (window).truelift, { preview: [parts, CONFIG] });
  loadScript(`${base}/sdk/v1/${CONFIG.sdk_key}/preview.js`, nonce);
};
