// Assignment of a visitor to a variant of an experiment.

import { murmur3, unitHash } from "./hash.js";
import { short } from "./ids.js";
import { coversPage } from "./pages.js";

/**
 * Where the variant of an experiment is kept: each unit other than the visitor has a place of its own.
 *
 * @param {import("./config.js").Experiment} experiment
 * @param {string | null | undefined} unit id
 */
export const placeOfUnit = ({ id, unit: kind }, unit) =>
  short(id) + (kind ? murmur3(`${unit}`) : "");

/**
 * The variant of a visitor, or of its unit: the first one given, else by hash.
 *
 * @param {import("./config.js").Experiment} experiment
 * @param {string} unit id
 * @param {string | undefined} storedVariantId
 * @returns {number | null} index; null where the visitor takes no part
 */
export const assignVariant = (experiment, unit, storedVariantId) => {
  const { variants, status, traffic, thresholds } = experiment;
  const stored = variants.findIndex(({ id }) => id === storedVariantId);
  if (stored >= 0) return stored;
  if (status === "paused" || unitHash(experiment, "t", unit) >= traffic) return null;
  const own = unitHash(experiment, "v", unit);
  const index = thresholds.findIndex((threshold) => own < threshold);
  return index < 0 ? null : index;
};

/**
 * The variant of a visitor on a page, as far as the browser can decide: not where the server has the patterns of
 * the pages, or alone knows the first assignment.
 *
 * A first assignment stays whatever has changed since, but is shown on the pages of the experiment alone.
 *
 * @param {import("./config.js").Experiment} experiment
 * @param {import("./parts.js").Visit} visit
 * @param {string | null | undefined} unit id of what is assigned; without one, the visitor is not
 * @param {string | undefined} storedVariantId of a variant that the experiment still has
 * @param {Partial<import("./parts.js").Parts>} parts
 * @returns {number | null} index; null where the visitor takes no part
 */
export const variantOnPage = (experiment, visit, unit, storedVariantId, parts) =>
  unit != null &&
  coversPage(experiment, visit.url, parts.matchesAutomaton) &&
  (storedVariantId ||
    ((!experiment.targeting || parts.isEligible?.(experiment, visit)) &&
      !parts.isExcluded?.(experiment, unit)))
    ? assignVariant(experiment, unit, storedVariantId)
    : null;
