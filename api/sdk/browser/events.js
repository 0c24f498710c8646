// Events: what is recorded of a visit, each with an id of its own.

import { now, timestamp } from "./clock.js";
import { newId } from "./ids.js";
import { whenActive } from "./lifetime.js";
import { tell } from "./notices.js";
import { keep } from "./page_outbox.js";
import { userId, visitorId } from "./page_visitor.js";

const LONGEST_URL = 2_048;

/** @type {() => string} */
export const pageUrl = () => location.href.slice(0, LONGEST_URL);

/** The address without what may be another view of the same page: its query and fragment. */
/** @type {() => string} */
export const pagePath = () => location.href.replace(/[?#](?![!/]).*/, "");

/**
 * Record an event of this moment.
 *
 * @param {string} type
 * @param {Record<string, unknown>} fields
 */
export const record = (type, fields) => {
  const event_id = newId();
  const time = timestamp(now());
  const url = pageUrl();
  whenActive(() => {
    try {
      keep({
        event_id,
        type,
        visitor_id: visitorId(),
        ...(userId() ? { user_id: userId() } : {}),
        timestamp: time,
        url,
        ...fields,
      });
    } catch (error) {
      tell("error", { message: `${error}` });
    }
  });
};
