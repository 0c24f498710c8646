// Batches: as many events as one request may carry, and as many as the next page has room for.

/** Of what is kept for the next page; the memory of this one keeps all. */
const MOST_BYTES = 500_000;
// Of requests that may outlive the page: browsers allow 64 KiB in flight.
const BATCH_BYTES = 50_000;

/** @typedef {{ text: string, isTaken?: boolean }} Entry JSON of an event, and whether a beacon has taken it */

const encoder = new TextEncoder();
/** Characters may take three bytes. */
/** @type {(text: string) => number} */
export const sizeOf = (text) => encoder.encode(text).length;

/** @type {(entries: Entry[]) => Entry[]} */
export const firstBatch = (entries) => {
  let size = 0;
  const end = entries.findIndex(({ text }, index) => {
    size += sizeOf(text) + 1;
    return index > 0 && size >= BATCH_BYTES;
  });
  return end < 0 ? entries : entries.slice(0, end);
};

/** The newest events that the next page has room for; views and clicks are the first to go. */
/** @type {(entries: Entry[]) => string[]} */
export const newestTexts = (entries) => {
  let room = MOST_BYTES;
  /** @type {(entry: Entry) => boolean} */
  const isView = ({ text }) => /"type":"(pageview|click)"/.test(text);
  const kept = new Set();
  for (const isLast of [false, true]) {
    for (const entry of [...entries].reverse()) {
      if (isView(entry) !== isLast) continue;
      room -= entry.text.length;
      if (room > 0) kept.add(entry);
    }
  }
  return entries.filter((entry) => kept.has(entry)).map(({ text }) => text);
};
