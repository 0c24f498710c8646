// Order of events: what is sent later, in whatever tab, did not happen earlier than what the server may have.

import { now, timestamp } from "./clock.js";

/** @typedef {import("./batches.js").Entry} Entry */

/** More than that ahead, or behind, is a clock that was set. */
const MOST_AHEAD_MS = 60_000;
/** Of two pages: each takes the time once. */
const CLOCKS_DIFFER_MS = 2;

// Within a text its quotes would be escaped.
const TIME = /"timestamp":"([^"]*)/;
/** @type {(entry: Entry) => number} */
const timeOf = ({ text }) => Date.parse(TIME.exec(text)?.[1] ?? "") || 0;

/**
 * Keep an order of the events of a browser.
 *
 * @param {import("./storage.js").Store} local of all of its tabs
 */
export const createOrder = (local) => {
  /** When the page began, by the last event of a request without an answer; 0 without one: it may take until now. */
  let flight = 0;

  /** The latest time at which the server may take any event of this browser to have happened, in ms since 1970. */
  const horizon = () => {
    const kept = Number(local.get("sent"));
    return Math.max(kept < now() + MOST_AHEAD_MS ? kept : 0, flight + performance.now());
  };

  /** @type {(time: number) => void} */
  const extend = (time) => local.set("sent", `${Math.max(time, horizon())}`);

  /**
   * The body of a request. The server takes an event to be as old at its receipt as it was when it was sent, so
   * each request moves its events by its own delay. They therefore follow, in their order, whatever may have been
   * received: an order comes after the exposure before it, in each tab. Of an event that has been received already,
   * the server keeps the time that it had.
   *
   * @param {Entry[]} entries
   */
  const bodyOf = (entries) => {
    let end = horizon() + CLOCKS_DIFFER_MS;
    for (const entry of [...entries].sort((one, other) => timeOf(one) - timeOf(other))) {
      const time = timeOf(entry);
      if (end >= time && end < time + MOST_AHEAD_MS)
        entry.text = entry.text.replace(TIME, `"timestamp":"${timestamp(++end)}`);
      else end = Math.max(end, time);
    }
    flight = Math.max(flight, end - performance.now());
    return `{"sent_at":"${timestamp(now())}","batch":[${entries.map(({ text }) => text).join()}]}`;
  };

  /** Know of the requests that they have ended. */
  const land = () => {
    extend(0);
    flight = 0;
  };

  return { extend, bodyOf, land };
};
