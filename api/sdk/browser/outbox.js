// Outbox: events wait in localStorage, one key each, until the server has given its verdict on them.

import { endpoint } from "./script.js";
import { local } from "./storage.js";

const MOST_EVENTS = 200;
const MOST_BYTES = 100_000;
// The most that the server takes; one that no request can carry would hold up all others.
const LONGEST_EVENT = 32_768;
const MOST_AGE_MS = 7 * 24 * 3600 * 1000;
// Of requests that may outlive the page: browsers allow 64 KiB in flight.
const BATCH_BYTES = 50_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 300_000;
// Of what the server asks for, and against a clock that was wrong.
const LONGEST_PAUSE_MS = 3_600_000;
const TIMEOUT_MS = 30_000;
const PREFIX = `q.${CONFIG.sdk_key}.`;
const NEVER = Number.POSITIVE_INFINITY;

/** @typedef {{ name: string, id: string, kept: number, text: string }} Entry name of the key, id of the event, when it was kept in ms, and its JSON */

let isSending = false;
let isPlanned = false;
let failures = 0;
/** Time before which nothing is sent, in ms: what the server asked for holds on the next page too. */
let pausedUntil = Number(local.get("retry")) || 0;
if (pausedUntil > Date.now() + LONGEST_PAUSE_MS) pausedUntil = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** When the last event was kept, in ms: each has a later time, and so its place in the order of names. */
let last = 0;
/** Events of this page that no beacon has taken yet. */
/** @type {Set<string>} */
const unsent = new Set();

/** @type {() => Entry[]} */
const entries = () => {
  const found = [];
  for (const name of local
    .names()
    .filter((one) => one.startsWith(PREFIX))
    .sort()) {
    const [time = "", id = ""] = name.slice(PREFIX.length).split(".");
    const text = local.get(name);
    const kept = Number.parseInt(time, 36);
    if (text && Date.now() - kept < MOST_AGE_MS) found.push({ name, id, kept, text });
    else local.remove(name);
  }
  return found;
};

/** Remove the oldest events beyond the limits, views and clicks first. */
const trim = () => {
  let kept = entries();
  let size = kept.reduce((sum, entry) => sum + entry.text.length, 0);
  while (kept.length > MOST_EVENTS || size > MOST_BYTES) {
    const oldest = kept.find(({ text }) => /"type":"(pageview|click)"/.test(text)) ?? kept[0];
    if (!oldest) return;
    local.remove(oldest.name);
    size -= oldest.text.length;
    kept = kept.filter((entry) => entry !== oldest);
  }
};

/** When the request that is on its way was sent, in ms; 0 without one. */
let sentAt = 0;
/** The longest that a request has taken, in ms. */
let lag = 0;

const measure = () => {
  if (sentAt) lag = Math.max(lag, Date.now() - sentAt);
};

/**
 * The body of a request. The server takes an event to be as old at its receipt as it was when it was sent, so
 * each request moves its events by its own delay. Less the lag, but never into the future, what waited for a
 * slow request, such as the first of a page, is no earlier than the exposures that went with that one.
 *
 * @param {Entry[]} events
 */
const bodyOf = (events) =>
  `{"sent_at":"${new Date(Math.min(Date.now(), Math.max(Date.now() - lag, ...events.map(({ kept }) => kept)))).toISOString()}","batch":[${events.map((event) => event.text).join()}]}`;

/** Characters may take three bytes. */
/** @type {(text: string) => number} */
const sizeOf = (text) => new Blob([text]).size;

/** @type {(events: Entry[]) => Entry[]} */
const firstBatch = (events) => {
  let size = 0;
  return events.filter((event, index) => {
    size += sizeOf(event.text) + 1;
    return index === 0 || size < BATCH_BYTES;
  });
};

/** @type {(body: string) => Promise<Response>} */
const post = (body) => {
  const abort = new AbortController();
  const limit = setTimeout(() => abort.abort(), TIMEOUT_MS);
  return fetch(endpoint("track"), {
    method: "POST",
    body,
    headers: { "Content-Type": "text/plain" },
    keepalive: true,
    credentials: "omit",
    signal: abort.signal,
  }).finally(() => clearTimeout(limit));
};

/** @type {(ms: number) => void} */
const pause = (ms) => {
  pausedUntil = Date.now() + ms;
  local.set("retry", `${pausedUntil}`);
  plan(ms);
};

const backOff = () => {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** failures++, LONGEST_WAIT_MS);
  pause(wait * (0.5 + Math.random() / 2));
};

/** @type {(ms: number) => void} */
const plan = (ms) => {
  clearTimeout(timer);
  timer = setTimeout(drain, ms);
};

/** @type {(events: Entry[]) => Promise<boolean>} whether to go on at once */
const send = async (events) => {
  try {
    const body = bodyOf(events);
    sentAt = Date.now();
    const answer = await post(body).finally(measure);
    sentAt = 0;
    if (answer.ok) {
      /** @type {{ results: { event_id: string | null }[] }} */
      const { results } = await answer.json();
      // In the order of the request, also where the id itself is what was refused.
      for (const [index] of results.entries()) local.remove(events[index]?.name ?? "");
      failures = 0;
      return results.length > 0;
    }
    const { status } = answer;
    if (status === 413) {
      if (events.length > 1) return send(events.slice(0, events.length >> 1));
      local.remove(events[0]?.name ?? "");
      return true;
    }
    const seconds = Number(answer.headers.get("Retry-After"));
    if (status < 500 && status !== 429 && status !== 408) pausedUntil = NEVER;
    else if (seconds > 0) pause(Math.min(seconds * 1000, LONGEST_PAUSE_MS));
    else backOff();
  } catch {
    sentAt = 0;
    backOff();
  }
  return false;
};

const sendAll = async () => {
  for (;;) {
    const waiting = entries();
    if (!waiting.length || Date.now() < pausedUntil || !(await send(firstBatch(waiting)))) return;
  }
};

/** Send what waits, in one tab at a time. */
export const drain = async () => {
  isPlanned = false;
  if (isSending) return;
  if (Date.now() < pausedUntil) {
    if (pausedUntil < NEVER) plan(pausedUntil - Date.now());
    return;
  }
  isSending = true;
  try {
    if (!navigator.locks) await sendAll();
    else
      await navigator.locks.request(PREFIX, { ifAvailable: true }, (lock) => {
        if (lock) return sendAll();
        // The other tab may have looked before this one wrote.
        plan(FIRST_WAIT_MS);
      });
  } catch {
    // Pages that may store nothing get no locks.
    await sendAll();
  } finally {
    isSending = false;
  }
};

/**
 * Keep an event until the server has it, and send it with what else this task adds; throws where it is no JSON
 * or too large.
 *
 * @param {string} id
 * @param {Record<string, unknown>} event
 */
export const keep = (id, event) => {
  const text = JSON.stringify(event);
  if (sizeOf(text) > LONGEST_EVENT) throw new Error(`an event may have ${LONGEST_EVENT} bytes`);
  unsent.add(id);
  last = Math.max(Date.now(), last + 1);
  local.set(`${PREFIX}${last.toString(36)}.${id}`, text);
  trim();
  if (!isPlanned) {
    isPlanned = true;
    queueMicrotask(drain);
  }
};

/**
 * Hand the events of this page to beacons, since it may end now; they stay until a verdict is known.
 *
 * Those of a request that is on its way go again: should the beacon arrive first, what it tells of later would
 * seem to have happened before them.
 */
export const sendByBeacon = () => {
  if (pausedUntil === NEVER) return;
  let waiting = entries().filter(({ id }) => unsent.has(id));
  while (waiting.length) {
    const batch = firstBatch(waiting);
    measure();
    const body = bodyOf(batch);
    if (!navigator.sendBeacon?.(endpoint("track"), body)) post(body).catch(() => {});
    for (const { id } of batch) unsent.delete(id);
    waiting = waiting.slice(batch.length);
  }
};
