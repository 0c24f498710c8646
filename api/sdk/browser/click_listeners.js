// Clicks: one listener for triggers, goals and links.

/** @typedef {(path: Element[], event: MouseEvent) => void} OnClick */

/** @type {OnClick[]} */
const listeners = [];

/** @type {(path: Element[], selector: string) => boolean} */
export const isWithin = (path, selector) => {
  try {
    return path.some((element) => element.matches(selector));
  } catch {
    return false;
  }
};

/**
 * Call back before the page handles a click, with the clicked element and those around it.
 *
 * @param {OnClick} listener
 */
export const onClick = (listener) => {
  if (!listeners.length) {
    addEventListener(
      "click",
      (event) => {
        const path = event.composedPath().filter((one) => one instanceof Element);
        for (const one of listeners) one(/** @type {Element[]} */ (path), event);
      },
      true,
    );
  }
  listeners.push(listener);
};
