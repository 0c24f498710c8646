// Part: decisions of the server, on patterns that are too large for a browser, and on visitors of earlier weights.

import { askServer } from "../server_decisions.js";
import { isUnsettled, newVisitorIn } from "../unsettled.js";

const isNew = newVisitorIn(PARTS.session);
/** @type {Set<string>} */
const asked = new Set();

PARTS.isExcluded = (experiment, unit) => {
  const isAsked = !isNew() && isUnsettled(experiment, unit);
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
