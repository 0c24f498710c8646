// Experiments whose weights have changed: the variant of some visitors depends on when they came first.

import { unitHash } from "./hash.js";

/**
 * Whether only the server can tell the variant of a unit that has none from before.
 *
 * @param {import("./config.js").Experiment} experiment
 * @param {string} unit id
 */
export const isUnsettled = (experiment, unit) => {
  const { status, traffic, unsettled } = experiment;
  if (!unsettled || status !== "running" || unitHash(experiment, "t", unit) >= traffic)
    return false;
  const own = unitHash(experiment, "v", unit);
  return unsettled.some(([first, beyond]) => first <= own && own < beyond);
};
