// Part: a holdout. The service alone knows who was seen before it began: it is asked about a visitor who may be held
// out, before anything is shown, and told of any other one in the background, once a session.

import { decisionsOf } from "../answered_decisions.js";
import { unitHash } from "../hash.js";
import { post } from "../script.js";
import { local, readBoth } from "../storage.js";

const { isExcluded, askServer, session } = PARTS;
const holdout = /** @type {import("../config.js").Holdout} */ (CONFIG.holdout);
const heldOut = holdout.thresholds[0] ?? 0;
/** Whether there is a test or a rollout for the visitor here, whatever its traffic. */
let isMet = false;
/** Experiments that wait for the answer. */
/** @type {Set<string>} */
const waiting = new Set();

/** What the service has said, for this visitor as this user: `1` of one who is held out. */
/** @type {(visitor: string | null) => string} */
const nameOf = (visitor) => `${holdout.id} ${visitor} ${local.get("user") ?? ""} `;
/** @type {(visitor: string | null) => string | undefined} */
const toldOf = (visitor) => {
  const told = session.get("holdout") ?? "";
  return told.startsWith(nameOf(visitor)) ? told.slice(-1) : undefined;
};

/** Another visitor of a user may be held out. */
/** @type {(visitor: string | null) => boolean} */
const mayBeHeldOut = (visitor) =>
  !visitor || Boolean(local.get("user")) || unitHash(holdout, "v", visitor) < heldOut;

PARTS.isExcluded = (experiment, unit) => {
  const visitor = experiment.unit ? readBoth("visitor") : unit;
  const told = toldOf(visitor);
  isMet ||= experiment.status !== "paused";
  if (told === "1") return true;
  if (!told && mayBeHeldOut(visitor)) {
    waiting.add(experiment.id);
    return true;
  }
  return Boolean(isExcluded?.(experiment, unit));
};

/** @type {(visit: import("../parts.js").Visit) => Promise<import("../parts.js").ServerDecision[]>} */
const ask = async (visit) => {
  const ids = new Set(waiting);
  waiting.clear();
  try {
    const answer = await post("init", JSON.stringify(visit));
    if (!answer.ok) return [];
    const found = await answer.json();
    if (found.holdout?.holdout_id === holdout.id)
      session.set("holdout", nameOf(visit.visitor_id) + Number(found.holdout.is_held_out));
    return decisionsOf(found).filter(({ experiment_id }) => ids.has(experiment_id));
  } catch {
    return [];
  }
};

PARTS.askServer = async (visit) => {
  const isDue = (isMet || waiting.size) && !toldOf(visit.visitor_id);
  isMet = false;
  const found = await Promise.all([askServer?.(visit) ?? [], isDue ? ask(visit) : []]);
  return found.flat();
};
