// Assignment of a visitor to a variant of an experiment.

import { murmur3 } from "./hash.js";

/**
 * The variant of a visitor: the first one given, else by hash.
 *
 * @param {import("./config.js").Experiment} experiment
 * @param {string} visitorId
 * @param {string | undefined} storedVariantId
 * @returns {number | null} index; null where the visitor takes no part
 */
export const assignVariant = (experiment, visitorId, storedVariantId) => {
  const { variants, status, salt, bucketing_version, traffic, thresholds } = experiment;
  /** @type {(role: "t" | "v") => number} */
  const hash = (role) => murmur3(`${role}:${salt}:${bucketing_version}:${visitorId}`);
  const stored = variants.findIndex(({ id }) => id === storedVariantId);
  if (stored >= 0) return stored;
  if (status !== "running" || hash("t") >= traffic) return null;
  const own = hash("v");
  const index = thresholds.findIndex((threshold) => own < threshold);
  return index < 0 ? null : index;
};
