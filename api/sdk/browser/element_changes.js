// Changes of elements: made as soon as the elements appear, made again a few times, and undone.

import { ACTIONS, attributeParts, subjectOf } from "./element_actions.js";

/** @typedef {import("./changes.js").Change} Change */
/** @typedef {import("./changes.js").OnError} OnError */
/** @typedef {import("./element_actions.js").Applied} Applied */

/**
 * A change of an experiment and the elements that have it, with how often they were given it.
 *
 * @typedef {object} Active
 * @property {Change} change
 * @property {string} value of the change, or one of its classes
 * @property {string} subject of the change; empty where it adds
 * @property {OnError} onError
 * @property {Map<Element, [applied: Applied, times: number]>} elements
 * @property {number} count of times at which the page reverted it since a time in ms
 * @property {number} since
 */

const MOST_TIMES = 10;
// Against a page that makes a new element for each that is changed.
const MOST_IN_PERIOD = 2_000;
const PERIOD_MS = 10_000;

/** @type {Applied} */
const NOTHING = [[], () => true, () => {}];

/** Of those that set the same of an element, the last is made. */
/** @type {Set<Active>} */
const active = new Set();
/** @type {Set<[selector: string, found: (element: Element) => void]>} */
const awaited = new Set();
/** Nodes of ours, by the change that put them there and is not made to them. */
/** @type {WeakMap<Node, Active>} */
const makers = new WeakMap();

/** Count that the page reverted a change, or dropped its elements, in one go. */
/** @type {(one: Active) => void} */
const count = (one) => {
  if (Date.now() - one.since > PERIOD_MS) {
    one.since = Date.now();
    one.count = 0;
  }
  one.count++;
};

/** @type {(one: Active, element: Element) => void} */
const apply = (one, element) => {
  const { change, value, elements, onError } = one;
  const [, times = 0] = elements.get(element) ?? [];
  let applied = NOTHING;
  try {
    if (times > MOST_TIMES || one.count > MOST_IN_PERIOD)
      throw new Error("the page keeps reverting it");
    applied = /** @type {(typeof ACTIONS)[string]} */ (ACTIONS[change.action])(element, value);
    for (const node of applied[0]) makers.set(node, one);
  } catch (error) {
    onError(error, change);
  }
  elements.set(element, [applied, times + 1]);
};

/** @type {(one: Active, element: Element) => boolean} */
const isNew = (one, element) => {
  for (let node = /** @type {Node | null} */ (element); node; node = node.parentNode) {
    if (makers.get(node) === one) return false;
  }
  return !one.elements.has(element);
};

/** @type {(one: Active) => [earlier: Active[], later: Active[]]} those that set the same */
const rivalsOf = (one) => {
  const all = [...active];
  const place = all.indexOf(one);
  /** @type {(other: Active) => boolean} */
  const isRival = ({ subject }) =>
    subject !== "" && (subject.startsWith(one.subject) || one.subject.startsWith(subject));
  return one.subject
    ? [all.slice(0, place).filter(isRival), all.slice(place + 1).filter(isRival)]
    : [[], []];
};

/** @type {(one: Active, element: Element) => void} */
const undo = ({ elements }, element) => {
  elements.get(element)?.[0][2]();
  elements.delete(element);
};

/** @type {(roots: ParentNode[], selector: string, use: (element: Element) => void) => void} */
const eachMatch = (roots, selector, use) => {
  for (const root of roots) {
    const found = [...root.querySelectorAll(selector)];
    if (root instanceof Element && root.matches(selector)) use(root);
    found.forEach(use);
  }
};

/** @type {(roots: ParentNode[]) => void} */
const applyWithin = (roots) => {
  for (const one of active) {
    const [earlier, later] = rivalsOf(one);
    eachMatch(roots, one.change.selector, (element) => {
      if (!isNew(one, element) || later.some(({ elements }) => elements.has(element))) return;
      for (const other of earlier) undo(other, element);
      apply(one, element);
    });
  }
  for (const [selector, found] of awaited) eachMatch(roots, selector, found);
};

/** Make changes again that the page has reverted, and forget elements that it has dropped. */
const repair = () => {
  for (const one of active) {
    let isReverted = false;
    for (const [element, [[, holds, revert, settle]]] of one.elements) {
      if (!element.isConnected) undo(one, element);
      else if (holds()) continue;
      else {
        if (one.count <= MOST_IN_PERIOD) settle?.();
        if (!holds()) {
          revert();
          apply(one, element);
        }
      }
      isReverted = true;
    }
    if (isReverted) count(one);
  }
};

const observer = new MutationObserver((records) => {
  const added = records.flatMap(({ addedNodes }) => [...addedNodes]);
  repair();
  applyWithin(
    /** @type {Element[]} */ (added.filter((node) => node instanceof Element && node.isConnected)),
  );
  // Our own writes.
  observer.takeRecords();
});

/** Observe what the active changes need to know. */
const observe = () => {
  const attributeFilter = [...active].flatMap(({ change: { action, value } }) =>
    action === "modify_class"
      ? ["class"]
      : action === "modify_attribute"
        ? attributeParts(value)[0]
        : [],
  );
  observer.disconnect();
  if (active.size || awaited.size)
    observer.observe(document, {
      childList: true,
      subtree: true,
      characterData: true,
      attributes: attributeFilter.length > 0,
      ...(attributeFilter.length && { attributeFilter }),
    });
};

/** Handle everything that the page has changed. */
const catchUp = () => {
  repair();
  applyWithin([document]);
  observe();
};

/** @type {import("./changes.js").ChangeElements} */
export const changeElements = (changes, onError) => {
  /** @type {Active[]} */
  const mine = changes.flatMap((change) => {
    const { action, value } = change;
    const values = action === "modify_class" ? (value.match(/\S+/g) ?? []) : [value];
    return values.map((value) => ({
      change,
      value,
      subject: subjectOf(action, value),
      onError,
      elements: new Map(),
      count: 0,
      since: 0,
    }));
  });
  for (const one of mine) active.add(one);
  catchUp();
  return () => {
    for (const one of mine.reverse()) {
      active.delete(one);
      for (const element of one.elements.keys()) undo(one, element);
    }
    catchUp();
  };
};

/** @type {(change: Change) => number} elements that have a change now, at least */
export const changedElements = (change) =>
  Math.max(0, ...[...active].map((one) => (one.change === change ? madeTo(one) : 0)));

/** @type {(one: Active) => number} */
const madeTo = ({ elements }) =>
  [...elements.values()].filter(([applied]) => applied !== NOTHING).length;

/**
 * Call back for each element that matches, now or later.
 *
 * @param {string} selector
 * @param {(element: Element) => void} found
 * @returns {() => void} stops
 */
export const awaitElements = (selector, found) => {
  /** @type {[string, typeof found]} */
  const one = [selector, found];
  // Throws where it is no selector, before others have to do with it.
  document.querySelector(selector);
  awaited.add(one);
  catchUp();
  return () => {
    awaited.delete(one);
    catchUp();
  };
};
