// What the page is told through `truelift.on`.

/** @type {{ name: string, detail: unknown }[]} */
const past = [];
/** @type {{ name: string, callback: (detail: unknown) => void }[]} */
const listeners = [];

/**
 * Call back; what the page's function throws is shown, and stops nothing of ours.
 *
 * @template Detail
 * @param {(detail: Detail) => void} callback
 * @param {Detail} detail
 */
export const call = (callback, detail) => {
  try {
    callback(detail);
  } catch (error) {
    console.error(error);
  }
};

/**
 * Tell listeners, also those that come later.
 *
 * @param {string} name `exposure` or `error`
 * @param {unknown} detail
 */
export const tell = (name, detail) => {
  past.push({ name, detail });
  for (const one of listeners) if (one.name === name) call(one.callback, detail);
};

/**
 * Listen, to what has happened too.
 *
 * @param {string} name
 * @param {(detail: unknown) => void} callback
 */
export const on = (name, callback) => {
  for (const one of past) if (one.name === name) call(callback, one.detail);
  listeners.push({ name, callback });
};
