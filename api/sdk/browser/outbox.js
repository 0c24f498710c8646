// Outbox: events wait in memory, and for the next page in localStorage, until the server has its verdict on them.

import { firstBatch, newestTexts, sizeOf } from "./batches.js";
import { createOrder, TIMEOUT_MS } from "./event_order.js";
import { newId } from "./ids.js";
import { keptEvents, prefixOf } from "./kept_events.js";

// The most that the server takes; one that no request can carry would hold up all others.
const LONGEST_EVENT = 32_768;
export const FIRST_WAIT_MS = 1_000;
export const LONGEST_WAIT_MS = 300_000;
// Of what the server asks for, and against a clock that was wrong.
export const LONGEST_PAUSE_MS = 3_600_000;
const NEVER = Number.POSITIVE_INFINITY;

/** @typedef {{ event_id: string | null, status: string, code: string | null, message: string | null }} Result */

/**
 * What differs between the script of a page and a client in an application.
 *
 * @typedef {object} Surroundings
 * @property {Pick<import("./config.js").Config, "project_id" | "sdk_key">} config of the project: events outlive a change of its key
 * @property {import("./storage.js").Store} local what the next page can read
 * @property {import("./storage.js").Store} session what later pages of the tab can read
 * @property {(body: string, more?: RequestInit) => Promise<Response>} post
 * @property {(body: string) => boolean} beacon whether the browser has taken it
 * @property {(send: () => void) => void} gather calls back when events have had time to share a request
 * @property {number} refusedMs pause after a refusal that no repetition can mend
 * @property {(results: Result[]) => void} [onResults]
 */

/** @typedef {import("./batches.js").Entry} Entry */

/**
 * Make an outbox of its own.
 *
 * @param {Surroundings} surroundings
 */
export const createOutbox = ({
  config,
  local,
  session,
  post,
  beacon,
  gather,
  refusedMs,
  onResults,
}) => {
  const { follow, bodyOf, expect, land } = createOrder(local);
  /** The place of this page's events in localStorage; without one nothing is stored: the visitor does not agree. */
  let place = "";
  let tab = "";
  /** In the order of their recording. */
  /** @type {Entry[]} */
  let waiting = [];
  /** @type {Promise<void> | undefined} */
  let sending;
  let isPlanned = false;
  /** Whether a beacon has left since the last request: nothing tells when it arrives. */
  let isBeaconed = false;
  let failures = 0;
  /** Time before which nothing is sent, in ms: what the server asked for holds on the next page too. */
  let pausedUntil = Number(local.get("retry")) || 0;
  if (pausedUntil > Date.now() + LONGEST_PAUSE_MS) pausedUntil = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  const save = () => {
    const texts = newestTexts(waiting);
    if (texts.length) local.set(place, `[${[Date.now(), ...texts].join()}]`);
    else local.remove(place);
  };

  /** Take what earlier pages of this tab, and tabs that have ended, have left. */
  const adopt = () => {
    tab = session.get("tab") ?? newId();
    session.set("tab", tab);
    place = prefixOf(config.project_id, tab) + newId();
    const taken = keptEvents(local, config, tab).filter(
      ({ isOwn, isRecent }) => isOwn || !isRecent,
    );
    // What the beacon of the page before may not have brought yet goes with the beacon of this one.
    const earlier = taken.flatMap(({ entries, isRecent }) =>
      entries.map(({ text }) => ({ text, isTaken: !isRecent })),
    );
    // What this page has told already follows them, also where one request cannot carry both.
    waiting.unshift(...earlier);
    save();
    for (const { name } of taken) local.remove(name);
  };

  /** Add what other tabs wait to be told of: what this tab sends must not come before it. */
  /** @type {(entries: Entry[]) => Entry[]} */
  const withThoseOfOthers = (entries) => {
    const others = keptEvents(local, config, tab).flatMap((one) =>
      one.isRecent && !one.isOwn ? one.entries : [],
    );
    if (others.length) expect();
    return [...entries, ...others];
  };

  /** @type {(body: string) => Promise<Response>} */
  const request = (body) => {
    const abort = new AbortController();
    const limit = setTimeout(() => abort.abort(), TIMEOUT_MS);
    return post(body, { keepalive: true, signal: abort.signal }).finally(() => clearTimeout(limit));
  };

  /** @type {(ms: number) => void} */
  const plan = (ms) => {
    clearTimeout(timer);
    timer = setTimeout(drain, ms);
    // Outside of browsers, a process that has ended its work need not wait for it.
    /** @type {any} */ (timer).unref?.();
  };

  /** @type {(ms: number) => void} */
  const pause = (ms) => {
    pausedUntil = Date.now() + ms;
    if (!place || ms === NEVER) return;
    local.set("retry", `${pausedUntil}`);
    plan(ms);
  };

  const backOff = () => {
    const wait = Math.min(FIRST_WAIT_MS * 2 ** failures++, LONGEST_WAIT_MS);
    pause(wait * (0.5 + Math.random() / 2));
  };

  /** @type {(entries: Entry[]) => void} */
  const forget = (entries) => {
    const gone = new Set(entries);
    waiting = waiting.filter((entry) => !gone.has(entry));
    if (place) save();
  };

  /** @type {(entries: Entry[]) => Promise<boolean>} whether to go on at once */
  const send = async (entries) => {
    isBeaconed = false;
    try {
      const answer = await request(bodyOf(entries)).finally(() => place && !isBeaconed && land());
      if (answer.ok) {
        /** @type {{ results: Result[] }} */
        const { results } = await answer.json();
        // In the order of the request, also where the id itself is what was refused.
        forget(entries.slice(0, results.length));
        failures = 0;
        onResults?.(results);
        return results.length > 0;
      }
      const { status } = answer;
      if (status === 413) {
        if (entries.length > 1) return send(entries.slice(0, entries.length >> 1));
        forget(entries);
        return true;
      }
      const seconds = Number(answer.headers.get("Retry-After"));
      if (status < 500 && status !== 429 && status !== 408) pause(refusedMs);
      else if (seconds > 0) pause(Math.min(seconds * 1000, LONGEST_PAUSE_MS));
      else backOff();
    } catch {
      backOff();
    }
    return false;
  };

  const sendAll = async () => {
    while (
      waiting.length &&
      Date.now() >= pausedUntil &&
      (await send(firstBatch(withThoseOfOthers(waiting))))
    );
  };
  const ended = () => {
    sending = undefined;
  };

  /** Keep what waits, and send it. */
  const drain = () => {
    isPlanned = false;
    if (!place) return;
    save();
    if (Date.now() >= pausedUntil) sending ??= sendAll().then(ended);
    else if (pausedUntil < NEVER) plan(pausedUntil - Date.now());
    return sending;
  };

  return {
    /** Begin to keep and send events, of a visitor who agrees. */
    open: () => {
      if (!place) adopt();
      drain();
    },

    /** Forget what waits, of a visitor who no longer agrees. */
    discard: () => {
      clearTimeout(timer);
      waiting = [];
      place = "";
    },

    drain,
    /** Number of events without a verdict, and the time before which none is sent. */
    state: () => ({ waiting: waiting.length, pausedUntil }),

    /**
     * Keep an event until the server has it, and send it with what else is gathered; throws where it is no JSON
     * or too large.
     *
     * @param {Record<string, unknown>} event
     */
    keep: (event) => {
      const text = JSON.stringify(event);
      if (sizeOf(text) > LONGEST_EVENT) throw new Error(`an event may have ${LONGEST_EVENT} bytes`);
      // Not before one that was sent and moved.
      waiting.push(follow({ text }));
      if (!isPlanned) {
        isPlanned = true;
        gather(drain);
      }
    },

    /**
     * Hand the events of this page to beacons, since it may end now; they stay until a verdict is known.
     *
     * Those of a request that is on its way go again: should the beacon arrive first, what it tells of later would
     * seem to have happened before them.
     */
    sendByBeacon: () => {
      if (pausedUntil === NEVER) return;
      let left = waiting.filter(({ isTaken }) => !isTaken);
      while (left.length) {
        const batch = firstBatch(withThoseOfOthers(left));
        const body = bodyOf(batch);
        isBeaconed = true;
        if (!beacon(body)) request(body).catch(() => {});
        for (const entry of batch) entry.isTaken = true;
        left = left.slice(batch.length);
      }
      // As they were sent.
      if (place) save();
    },
  };
};
