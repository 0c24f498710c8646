// Kept events: what pages have left in localStorage, one item each.

/** @typedef {import("./batches.js").Entry} Entry */

/** Events that another tab has kept for this long have lost their page, and no request has them still. */
const ABANDONED_MS = 30_000;
/** @typedef {{ name: string, isOwn: boolean, isRecent: boolean, entries: Entry[] }} Kept of this tab or another one */

/** The beginning of the names of a project, so that events outlive a change of its key, or of a tab's. */
/** @type {(projectId: string, tab?: string) => string} */
export const prefixOf = (projectId, tab) => `q.${projectId}.${tab ? `${tab}.` : ""}`;

/**
 * What pages have kept, none of it where it is something else than what this script writes.
 *
 * @param {import("./storage.js").Store} local
 * @param {Pick<import("./config.js").Config, "project_id" | "sdk_key">} config
 * @param {string} tab of the page that asks
 * @returns {Kept[]}
 */
export const keptEvents = (local, { project_id, sdk_key }, tab) => {
  const prefix = prefixOf(project_id);
  // One event each, by the key: as the script wrote them before.
  const formerPrefix = `q.${sdk_key}.`;
  return local
    .names()
    .filter((name) => name.startsWith(prefix) || name.startsWith(formerPrefix))
    .map((name) => {
      /** @type {any[]} */
      let kept = [];
      try {
        kept = [JSON.parse(local.get(name) ?? "")].flat();
      } catch {
        // Something else than what this script writes.
      }
      return {
        name,
        isOwn: name.startsWith(prefixOf(project_id, tab)),
        isRecent: Math.abs(Date.now() - kept[0]) < ABANDONED_MS,
        entries: kept
          .filter((event) => event?.event_id)
          .map((event) => ({ text: JSON.stringify(event) })),
      };
    });
};
