// Walk of the automaton of a regular expression: one step a character, whatever the pattern.

/**
 * Code points from `starts[i]` on are of class `classes[i]`; `table[state * width + class]` is the next state,
 * -1 once the pattern is found. Where the text ends, states in `ends` have found it.
 *
 * @typedef {object} Automaton
 * @property {number[]} starts
 * @property {number[]} classes
 * @property {number} width
 * @property {number[]} table
 * @property {number[]} ends
 */

/**
 * Tell whether the pattern of an automaton is found in a text. Half a surrogate pair reads as a question mark.
 *
 * @param {Automaton} automaton
 * @param {string} text
 * @returns {boolean}
 */
export const finds = ({ starts, classes, width, table, ends }, text) => {
  let state = 0;
  for (const character of text) {
    let point = /** @type {number} */ (character.codePointAt(0));
    if (point >> 11 === 27) point = 63;
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (/** @type {number} */ (starts[middle]) > point) high = middle;
      else low = middle;
    }
    state = table[state * width + /** @type {number} */ (classes[low])] ?? -1;
    if (state < 0) return true;
  }
  return ends.includes(state);
};
