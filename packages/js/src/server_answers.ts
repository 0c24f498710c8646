// Answers of the service on experiments that only it can decide: asked for once, and kept.

import { decisionsOf } from "../../../api/sdk/browser/answered_decisions.js";
import { TIMEOUT_MS } from "../../../api/sdk/browser/event_order.js";
import type { ServerDecision, Visit } from "../../../api/sdk/browser/parts.js";
import type { Connection } from "./connection.js";

/** Ask for a visitor's variants; none where the service does not answer: the visitor is not counted then. */
export const askServer = async (
  connection: Connection,
  visit: Visit,
): Promise<ServerDecision[]> => {
  const abort = new AbortController();
  const limit = setTimeout(() => abort.abort(), TIMEOUT_MS);
  try {
    // An empty address is none.
    const body = JSON.stringify({ ...visit, url: visit.url || undefined });
    const answer = await connection.post("init", body, { signal: abort.signal });
    const received = answer.ok ? await answer.json() : { assignments: [] };
    // Something else than the service may answer.
    return Array.isArray(received.assignments) ? decisionsOf(received) : [];
  } catch {
    return [];
  } finally {
    clearTimeout(limit);
  }
};
