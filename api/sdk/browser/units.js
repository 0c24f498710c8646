// Units other than the visitor: users, and what an attribute names, such as accounts.

import { SPACE_AROUND } from "./white_space.js";

const JUNK = ["", "null", "undefined", "[object Object]", "NaN"];
const LONGEST = 200;

/**
 * An id as text, a whole number in its digits; null where it is none.
 *
 * @param {unknown} value
 * @returns {string | null}
 */
const idText = (value) => {
  if (Number.isSafeInteger(value)) return String(value);
  if (typeof value !== "string") return null;
  const text = value.replace(SPACE_AROUND, "");
  return JUNK.includes(text) || Array.from(text).length > LONGEST ? null : text;
};

/**
 * The id that a visitor is assigned by; null without one.
 *
 * @type {(unit: import("./config.js").Unit, visit: { user_id: string | null, attributes: Record<string, any> }) => string | null}
 */
export const unitId = (unit, { user_id, attributes }) => {
  if (unit === "user") return idText(user_id);
  const { attribute } = unit;
  let value = attributes[attribute];
  for (const nested of [attributes.custom_dimensions, attributes.custom_dimension]) {
    if (typeof nested === "object" && nested && attribute in nested) value = nested[attribute];
  }
  return idText(value);
};
