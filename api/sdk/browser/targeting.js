// Evaluation of targeting rules, normalized by the server.

import { textOf } from "./attributes.js";

/**
 * @typedef {object} Condition
 * @property {string} field
 * @property {string} operator
 * @property {string} [key] name of a cookie, query parameter or custom dimension
 * @property {string[]} [values]
 * @property {number[]} [automata] of regular expressions
 * @property {boolean} [ignores_case] whether the values are in lower case
 */

/** @typedef {{ operator: "and" | "or" | "not", children: (Group | Condition)[] }} Group */

const NUMBER = /^[+-]?[0-9]{1,15}(\.[0-9]{1,15})?$/;

/** @type {(holds: (actual: number, wanted: number) => boolean) => (actual: string, wanted: string) => boolean} */
const ordered = (holds) => (actual, wanted) => NUMBER.test(actual) && holds(+actual, +wanted);

/** @type {(actual: string, wanted: string) => boolean} */
const equals = (actual, wanted) => actual === wanted;

/** @type {Record<string, (actual: string, wanted: string) => boolean>} */
const OPERATORS = {
  equals,
  in: equals,
  contains: (actual, wanted) => actual.includes(wanted),
  starts_with: (actual, wanted) => actual.startsWith(wanted),
  ends_with: (actual, wanted) => actual.endsWith(wanted),
  gt: ordered((actual, wanted) => actual > wanted),
  gte: ordered((actual, wanted) => actual >= wanted),
  lt: ordered((actual, wanted) => actual < wanted),
  lte: ordered((actual, wanted) => actual <= wanted),
};

/**
 * Whether targeting rules hold. An unknown attribute satisfies negated operators alone.
 *
 * @param {Group | Condition} node
 * @param {(field: string, key: string | undefined) => unknown} attributeOf
 * @param {(index: number, text: string) => boolean} matchesAutomaton
 * @returns {boolean}
 */
export const holds = (node, attributeOf, matchesAutomaton) => {
  if ("children" in node) {
    /** @type {(child: Group | Condition) => boolean} */
    const childHolds = (child) => holds(child, attributeOf, matchesAutomaton);
    if (node.operator === "and") return node.children.every(childHolds);
    return node.children.some(childHolds) === (node.operator === "or");
  }
  const { field, key, values = [], automata = [], ignores_case } = node;
  const operator = node.operator.replace(/^not_/, "");
  const known = textOf(attributeOf(field, key));
  const compare = OPERATORS[operator];
  const isMet = () => {
    if (known === null || operator === "exists") return known !== null;
    const actual = ignores_case ? known.toLowerCase() : known;
    return (
      values.some((value) => compare?.(actual, value)) ||
      automata.some((index) => matchesAutomaton(index, known))
    );
  };
  return isMet() === (operator === node.operator);
};
