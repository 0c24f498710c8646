// Changes of a variant: style rules at once, those of elements by the part for them.

import { addStyles } from "./stylesheet.js";

/** @typedef {import("./config.js").Change} Change */
/** @typedef {(error: unknown, change: Change) => void} OnError */
/** @typedef {(changes: Change[], onError: OnError) => () => void} ChangeElements */

/**
 * Make the changes of a variant, now and to elements that appear later.
 *
 * @param {string} css
 * @param {Change[]} changes
 * @param {OnError} onError
 * @param {ChangeElements} [changeElements]
 * @returns {() => void} undoes them
 */
export const makeChanges = (css, changes, onError, changeElements) => {
  /** @type {Change[][]} */
  const [styles = [], others = []] = [[], []];
  for (const change of changes) {
    try {
      document.querySelector(change.selector);
      (/^(remove|modify_style)$/.test(change.action) ? styles : others).push(change);
    } catch (error) {
      onError(error, change);
    }
  }
  const removeStyles = addStyles(css, styles, onError);
  const undo = changeElements?.(others, onError);
  return () => {
    removeStyles();
    undo?.();
  };
};
