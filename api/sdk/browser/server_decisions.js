// Decisions of the server: patterns that are too large for a browser, and drafts in a preview.

import { decisionsOf } from "./answered_decisions.js";
import { post } from "./script.js";

/**
 * Ask the server for a visitor's variants; none where it does not answer.
 *
 * @param {import("./parts.js").Visit} visit
 * @returns {Promise<import("./parts.js").ServerDecision[]>}
 */
export const askServer = async (visit) => {
  try {
    const answer = await post("init", JSON.stringify(visit));
    return answer.ok ? decisionsOf(await answer.json()) : [];
  } catch {
    return [];
  }
};
