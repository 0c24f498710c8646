// Google consent mode: what a page's data layer says of `analytics_storage`.

import { watchEntries } from "./data_layer.js";

/** @typedef {"granted" | "denied" | "pending"} Answer pending where a default denies, and no update has come */

/**
 * Follow the consent commands of a page. A default is no answer of the visitor: one that denies waits for an
 * update, and so does one for a region, since a browser does not know its region.
 *
 * @param {() => void} onChange is called after each command
 * @returns {{ answer: () => Answer | undefined, look: () => void }} no answer where the page has no consent mode
 */
export const followConsentMode = (onChange) => {
  /** @type {Answer | undefined} */
  let updated;
  /** @type {Answer | undefined} */
  let byDefault;
  const look = watchEntries((entry) => {
    const { analytics_storage: said, region } = Object(entry?.[2]);
    if (entry?.[0] !== "consent" || (said !== "granted" && said !== "denied")) return;
    if (entry[1] === "update") updated = said;
    else if (said === "denied") byDefault = "pending";
    else if (!region) byDefault ??= said;
    onChange();
  });
  return { answer: () => updated ?? byDefault, look };
};
