// Decisions of the server: patterns that are too large for a browser, and drafts in a preview.

import { endpoint } from "./script.js";

/**
 * Ask the server for a visitor's variants; none where it does not answer.
 *
 * @param {import("./parts.js").Visit} visit
 * @returns {Promise<import("./parts.js").ServerDecision[]>}
 */
export const askServer = async (visit) => {
  try {
    const answer = await fetch(endpoint("init"), {
      method: "POST",
      body: JSON.stringify(visit),
      headers: { "Content-Type": "text/plain" },
      credentials: "omit",
    });
    return answer.ok ? (await answer.json()).assignments : [];
  } catch {
    return [];
  }
};
