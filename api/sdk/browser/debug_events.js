// Events of a page in the debug panel: what waits, and the server's verdict on what was sent.

/** @typedef {{ id: string, text: string, time: string, verdict: string }} Shown */

const MOST = 20;
const PREFIX = `q.${CONFIG.project_id}.`;

/** Verdicts by event id, in the order of their arrival. */
/** @type {Map<string, Shown>} */
const judged = new Map();
/** The status of the last request, where it was refused, and the service's words. */
let refused = 0;
let words = "";

/** @type {(event: Record<string, any>) => string} */
const described = ({ type, event_name, selector, variant_id, experiment_id }) => {
  const index = CONFIG.experiments
    .find(({ id }) => id === experiment_id)
    ?.variants.findIndex(({ id }) => id === variant_id);
  return [type, event_name ?? selector, index === undefined ? "" : `variant ${index}`]
    .filter(Boolean)
    .join(" ");
};

/** @type {(result: { status: string, code: string | null, message: string | null }) => string} */
const verdictOf = ({ status, code, message }) => {
  const verdict = status === "ok" ? (code ? code.replace(/_/g, " ") : "stored") : status;
  return message ? `${verdict}: ${message}` : verdict;
};

/** @type {(given: [string, Response]) => Promise<void>} */
const judge = async ([body, answer]) => {
  try {
    const content = await answer.json();
    refused = answer.ok ? 0 : answer.status;
    words = content.error?.message ?? "";
    if (refused) return;
    for (const [index, event] of JSON.parse(body).batch.entries()) {
      const result = content.results[index];
      if (!result) continue;
      judged.set(event.event_id, {
        id: event.event_id,
        text: described(event),
        time: event.timestamp,
        verdict: verdictOf(result),
      });
    }
  } catch {
    // An answer that is none of the service's.
  }
};

/** Listen to the answers of the service, from the first on. */
export const listenForAnswers = () =>
  /** @type {any} */ (window).truelift.on("answer", (/** @type {any} */ given) => judge(given));

/** @type {() => Shown[]} */
const waiting = () => {
  try {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(`truelift_${PREFIX}`))
      .flatMap((name) => JSON.parse(localStorage.getItem(name) ?? "[]").slice(1))
      .filter(({ event_id }) => !judged.has(event_id))
      .map((event) => ({
        id: event.event_id,
        text: described(event),
        time: event.timestamp,
        verdict: refused ? `refused (${refused} ${words}), waits` : "waits for the server",
      }));
  } catch {
    return [];
  }
};

/** @type {() => Shown[]} the newest first */
export const events = () =>
  [...judged.values(), ...waiting()]
    .sort((one, other) => other.time.localeCompare(one.time))
    .slice(0, MOST);

/** Of the page's events so far: how many have a verdict, and the status by which the last request was refused. */
export const summary = () => ({ judged: judged.size, refused });
