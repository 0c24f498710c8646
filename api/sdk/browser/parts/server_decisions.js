// Part: decisions of the server, on patterns that are too large for a browser, and on visitors of earlier weights.

import { askServer } from "../server_decisions.js";
import { isUnsettled } from "../unsettled.js";

const { session } = PARTS;
// A visitor of another domain of the project is new here alone.
if (/[?&]_tl=/.test(location.search)) session.set("handed", "1");

/** @type {Set<string>} */
const asked = new Set();

PARTS.isUnsettled = (experiment, unit) => {
  const isNew = session.get("new") && !session.get("handed");
  const isAsked = !isNew && isUnsettled(experiment, unit);
  if (isAsked) asked.add(experiment.id);
  return isAsked;
};

PARTS.askServer = async (visit) => {
  const ids = new Set(asked);
  asked.clear();
  for (const { id, decided_by_server } of CONFIG.experiments) if (decided_by_server) ids.add(id);
  const answers = ids.size ? await askServer(visit) : [];
  return answers.filter(({ experiment_id }) => ids.has(experiment_id));
};
