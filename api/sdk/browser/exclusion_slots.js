// Slots of exclusion groups: each unit is of one experiment of a group.

import { unitHash } from "./hash.js";

/**
 * Whether the slot of a unit is none of those that an experiment has of its group.
 *
 * @param {import("./config.js").Experiment} experiment
 * @param {string} unit id
 */
export const isOutsideSlots = ({ group }, unit) => {
  if (!group) return false;
  const own = unitHash(group, "g", unit);
  return !group.ranges.some(([first, beyond]) => first <= own && own < beyond);
};
