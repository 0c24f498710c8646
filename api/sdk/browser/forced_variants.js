// Variants that a preview asks for: in the address of this page, or of an earlier one of the tab.

import { readObject, session } from "./storage.js";

export const PARAMETER = "truelift_preview";

/** @type {() => Record<string, string>} experiment id → variant id */
export const askedVariants = () =>
  Object.fromEntries(
    new URLSearchParams(location.search)
      .getAll(PARAMETER)
      .map((value) => value.split(":"))
      .filter(([experiment, variant]) => experiment && variant),
  );

/** Those of the tab, also on its later pages. */
/** @type {() => Record<string, string>} */
export const forcedVariants = () => {
  const asked = askedVariants();
  if (Object.keys(asked).length) session.set("preview", JSON.stringify(asked));
  return readObject(session, "preview");
};
