// Order of events: what is sent later, in whatever tab, did not happen earlier than what the server may have.

import { now, timestamp } from "./clock.js";

/** @typedef {import("./batches.js").Entry} Entry */

/** Of a request; then it is given up. */
export const TIMEOUT_MS = 30_000;
/** More than that ahead, or behind, is a clock that was set. */
const MOST_AHEAD_MS = 60_000;
/** What a tab may not have heard of yet: the clocks of two pages, and times that were moved. */
const SLACK_MS = 10;

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
  const horizon = () =>
    Math.max(Math.min(Number(local.get("sent")), now() + SLACK_MS), flight + performance.now());

  /** @type {(time: number) => void} */
  const keep = (time) => local.set("sent", `${time}`);

  /** Know that a request may arrive late, of this page or of another tab. */
  const expect = () => keep(now() + TIMEOUT_MS);

  /** The time of the last event. */
  let end = 0;

  /** @type {(entry: Entry) => Entry} */
  const follow = (entry) => {
    const time = timeOf(entry);
    if (end >= time && end < time + MOST_AHEAD_MS)
      entry.text = entry.text.replace(TIME, `"timestamp":"${timestamp(++end)}`);
    else end = Math.max(end, time);
    return entry;
  };

  /**
   * The body of a request. The server takes an event to be as old at its receipt as it was when it was sent, so
   * each request moves its events by its own delay. They therefore follow, in their order, whatever may have been
   * received: an order comes after the exposure before it, in each tab. Of an event that has been received already,
   * the server keeps the time that it had.
   *
   * @param {Entry[]} entries
   */
  const bodyOf = (entries) => {
    end = horizon();
    [...entries].sort((one, other) => timeOf(one) - timeOf(other)).map(follow);
    flight = Math.max(flight, end - performance.now());
    // Should the page end before the request does.
    expect();
    return `{"sent_at":"${timestamp(now())}","batch":[${entries.map(({ text }) => text).join()}]}`;
  };

  /** Know of the requests that they have ended. */
  const land = () => {
    keep(horizon());
    flight = 0;
  };

  return { follow, bodyOf, expect, land };
};
