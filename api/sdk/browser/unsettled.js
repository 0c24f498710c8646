// Experiments whose weights have changed: the variant of some visitors depends on when they came first.

import { unitHash } from "./hash.js";

/**
 * Give whether the visitor came first in this session, and so has no variant from before. One whom another domain
 * of the project handed over is new here alone.
 *
 * @param {import("./storage.js").Store} session
 */
export const newVisitorIn = (session) => {
  if (/[?&]_tl=/.test(location.search)) session.set("handed", "1");
  return () => Boolean(session.get("new")) && !session.get("handed");
};

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
