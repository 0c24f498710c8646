// Outbox: events wait in memory, and for the next page in localStorage, until the server has its verdict on them.

import { now, timestamp } from "./clock.js";
import { endpoint } from "./script.js";
import { local, session } from "./storage.js";
import { newId } from "./visitor.js";

/** Of what is kept for the next page; the memory of this one keeps all. */
const MOST_BYTES = 500_000;
// The most that the server takes; one that no request can carry would hold up all others.
const LONGEST_EVENT = 32_768;
// Of requests that may outlive the page: browsers allow 64 KiB in flight.
const BATCH_BYTES = 50_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 300_000;
// Of what the server asks for, and against a clock that was wrong.
const LONGEST_PAUSE_MS = 3_600_000;
const TIMEOUT_MS = 30_000;
/** Events that another tab has kept for this long have lost their page. */
const ABANDONED_MS = 30_000;
const NEVER = Number.POSITIVE_INFINITY;

/** Of the project, so that events outlive a change of its key. */
const PREFIX = `q.${CONFIG.project_id}.`;
// One event each, by the key: as the script wrote them before.
const FORMER_PREFIX = `q.${CONFIG.sdk_key}.`;
/** The place of this page's events in localStorage; without one nothing is stored: the visitor does not agree. */
let place = "";

/** @typedef {{ text: string, isTaken?: boolean }} Entry JSON of an event, and whether a beacon has taken it */

/** In the order of their recording. */
/** @type {Entry[]} */
let waiting = [];
let isSending = false;
let isPlanned = false;
let failures = 0;
/** Time before which nothing is sent, in ms: what the server asked for holds on the next page too. */
let pausedUntil = Number(local.get("retry")) || 0;
if (pausedUntil > Date.now() + LONGEST_PAUSE_MS) pausedUntil = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Keep the newest events for the next page; views and clicks are the first to go. */
const save = () => {
  let room = MOST_BYTES;
  /** @type {(entry: Entry) => boolean} */
  const isView = ({ text }) => /"type":"(pageview|click)"/.test(text);
  const kept = new Set();
  for (const isLast of [false, true]) {
    for (const entry of [...waiting].reverse()) {
      if (isView(entry) !== isLast) continue;
      room -= entry.text.length;
      if (room > 0) kept.add(entry);
    }
  }
  const texts = waiting.filter((entry) => kept.has(entry)).map(({ text }) => text);
  if (texts.length) local.set(place, `[${[Date.now(), ...texts].join()}]`);
  else local.remove(place);
};

/** Take what earlier pages of this tab, and tabs that have ended, have left. */
const adopt = () => {
  const tab = session.get("tab") ?? newId();
  session.set("tab", tab);
  place = `${PREFIX}${tab}.${newId()}`;
  const names = local
    .names()
    .filter((name) => name.startsWith(PREFIX) || name.startsWith(FORMER_PREFIX));
  const taken = names.filter((name) => {
    try {
      const [keptAt, ...events] = [JSON.parse(local.get(name) ?? "")].flat();
      if (name.startsWith(FORMER_PREFIX)) events.push(keptAt);
      const isOther = name.startsWith(PREFIX) && !name.startsWith(PREFIX + tab);
      if (isOther && Math.abs(Date.now() - keptAt) < ABANDONED_MS) return false;
      for (const event of events)
        if (event?.event_id) waiting.push({ text: JSON.stringify(event), isTaken: true });
    } catch {
      // Something else than what this script writes.
    }
    return true;
  });
  save();
  for (const name of taken) local.remove(name);
};

/** When the request that is on its way was sent, by the steady clock; 0 without one. */
let sentAt = 0;
/** The longest that a request of this tab has taken, in ms. */
let lag = Number(session.get("lag")) || 0;

const measure = () => {
  if (!sentAt) return;
  lag = Math.min(TIMEOUT_MS, Math.max(lag, performance.now() - sentAt));
  if (place) session.set("lag", `${lag}`);
};

/**
 * The body of a request. The server takes an event to be as old at its receipt as it was when it was sent, so
 * each request moves its events by its own delay. Less the lag, what follows a slow request, such as the first
 * of a page, is no earlier than the exposures that went with that one.
 *
 * @param {Entry[]} entries
 */
const bodyOf = (entries) =>
  `{"sent_at":"${timestamp(now() - lag)}","batch":[${entries.map(({ text }) => text).join()}]}`;

const encoder = new TextEncoder();
/** Characters may take three bytes. */
/** @type {(text: string) => number} */
const sizeOf = (text) => encoder.encode(text).length;

/** @type {(entries: Entry[]) => Entry[]} */
const firstBatch = (entries) => {
  let size = 0;
  const end = entries.findIndex(({ text }, index) => {
    size += sizeOf(text) + 1;
    return index > 0 && size >= BATCH_BYTES;
  });
  return end < 0 ? entries : entries.slice(0, end);
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
  if (!place) return;
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

/** @type {(entries: Entry[]) => void} */
const forget = (entries) => {
  waiting = waiting.filter((entry) => !entries.includes(entry));
  if (place) save();
};

/** @type {(entries: Entry[]) => Promise<boolean>} whether to go on at once */
const send = async (entries) => {
  try {
    const body = bodyOf(entries);
    sentAt = performance.now();
    const answer = await post(body).finally(measure);
    sentAt = 0;
    if (answer.ok) {
      /** @type {{ results: { event_id: string | null }[] }} */
      const { results } = await answer.json();
      // In the order of the request, also where the id itself is what was refused.
      forget(entries.slice(0, results.length));
      failures = 0;
      return results.length > 0;
    }
    const { status } = answer;
    if (status === 413) {
      if (entries.length > 1) return send(entries.slice(0, entries.length >> 1));
      forget(entries);
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

/** Keep what waits, and send it. */
const drain = async () => {
  isPlanned = false;
  if (!place) return;
  save();
  if (isSending) return;
  if (Date.now() < pausedUntil) {
    if (pausedUntil < NEVER) plan(pausedUntil - Date.now());
    return;
  }
  isSending = true;
  while (waiting.length && Date.now() >= pausedUntil && (await send(firstBatch(waiting))));
  isSending = false;
};

/** Begin to keep and send events, of a visitor who agrees. */
export const open = () => {
  if (!place) adopt();
  drain();
};

/** Forget what waits, of a visitor who no longer agrees. */
export const discard = () => {
  clearTimeout(timer);
  waiting = [];
  place = "";
};

/**
 * Keep an event until the server has it, and send it with what else this task adds; throws where it is no JSON
 * or too large.
 *
 * @param {Record<string, unknown>} event
 */
export const keep = (event) => {
  const text = JSON.stringify(event);
  if (sizeOf(text) > LONGEST_EVENT) throw new Error(`an event may have ${LONGEST_EVENT} bytes`);
  waiting.push({ text });
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
  let left = waiting.filter(({ isTaken }) => !isTaken);
  while (left.length) {
    const batch = firstBatch(left);
    measure();
    const body = bodyOf(batch);
    if (!navigator.sendBeacon?.(endpoint("track"), body)) post(body).catch(() => {});
    for (const entry of batch) entry.isTaken = true;
    left = left.slice(batch.length);
  }
};
