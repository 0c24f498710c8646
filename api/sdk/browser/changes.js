// Changes of elements: made as soon as the elements appear, made again a few times, and undone.

import { addStyles, keepStyles, sheets } from "./stylesheet.js";
import { nodesOf } from "./trusted.js";

/** @typedef {import("./config.js").Change} Change */
/** @typedef {(error: unknown, change: Change) => void} OnError */

/**
 * A change as it is made to one element: our nodes in the page, whether the page still has it, how to undo it,
 * how to set what the parser has added since apart, and the classes that it changed.
 *
 * @typedef {[nodes: ChildNode[], holds: () => boolean, undo: () => void, setApart?: (() => void) | undefined, classes?: string[]]} Applied
 */

/**
 * A change of an experiment and the elements that have it, with how often they were given it.
 *
 * @typedef {object} Active
 * @property {Change} change
 * @property {OnError} onError
 * @property {Map<Element, [applied: Applied, times: number]>} elements
 * @property {number} count of applications since a time in ms
 * @property {number} since
 */

const MOST_TIMES = 10;
// Against a page that makes a new element for each that is changed.
const MOST_IN_PERIOD = 2_000;
const PERIOD_MS = 10_000;

/** @type {Applied} */
const NOTHING = [[], () => true, () => {}];

/** @type {(nodes: ChildNode[]) => void} */
const removeAll = (nodes) => {
  for (const node of nodes) node.remove();
};

/** @type {(element: Element, nodes: ChildNode[]) => Applied} */
const contents = (element, nodes) => {
  const original = [...element.childNodes];
  const last = nodes[nodes.length - 1];
  const text = last instanceof Text ? last.data : "";
  const isOurs = () =>
    element.childNodes.length === nodes.length &&
    nodes.every((node) => node.parentNode === element) &&
    (!(last instanceof Text) || last.data === text);
  element.replaceChildren(...nodes);
  return [
    nodes,
    isOurs,
    () => isOurs() && element.replaceChildren(...original),
    () => {
      // The parser adds characters to the text node before its place, ours included.
      if (last instanceof Text && last.data !== text) {
        original.push(new Text(last.data.slice(text.length)));
        last.data = text;
      }
      original.push(...[...element.childNodes].filter((node) => !nodes.includes(node)));
      element.replaceChildren(...nodes);
    },
  ];
};

/** @type {(assignment: string) => [name: string, value: string | null]} */
const attributeParts = (assignment) => {
  const [, name = "", value = null] = /^\s*([^=\s]+)\s*(?:=(.*))?$/s.exec(assignment) ?? [];
  return [name, value];
};

/** @type {(element: Element, name: string, value: string | null) => void} */
const setAttribute = (element, name, value) => {
  // Policies refuse the attribute, but not the property.
  if (name === "style") /** @type {HTMLElement} */ (element).style.cssText = value ?? "";
  else if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
};

/** @type {Record<string, (element: Element, value: string, before?: Applied) => Applied>} */
const ACTIONS = {
  modify_text(element, value) {
    const [only, another] = element.childNodes;
    // A framework keeps its text node.
    if (!(only instanceof Text) || another) return contents(element, [new Text(value)]);
    let original = only.data;
    only.data = value;
    return [
      [],
      () => element.textContent === value,
      () => {
        if (only.data === value) only.data = original;
      },
      () => {
        original += only.data.slice(value.length);
        only.data = value;
      },
    ];
  },
  modify_html: (element, value) => contents(element, nodesOf(value)),
  modify_attribute(element, assignment) {
    const [name, value] = attributeParts(assignment);
    const read = () => element.getAttribute(name);
    const original = read();
    setAttribute(element, name, value);
    const written = read();
    const holds = () => read() === written;
    return [[], holds, () => holds() && setAttribute(element, name, original)];
  },
  modify_class({ classList }, tokens, before) {
    const wanted = (tokens.match(/\S+/g) ?? []).map(
      (token) => /** @type {const} */ ([token.replace(/^[+-]/, ""), token[0] !== "-"]),
    );
    const changed = wanted.filter(
      ([name, isAdded]) => classList.contains(name) !== isAdded || before?.[4]?.includes(name),
    );
    for (const [name, isAdded] of wanted) classList.toggle(name, isAdded);
    return [
      [],
      () => wanted.every(([name, isAdded]) => classList.contains(name) === isAdded),
      () => {
        for (const [name, isAdded] of changed) classList.toggle(name, !isAdded);
      },
      undefined,
      changed.map(([name]) => name),
    ];
  },
  replace(element, value) {
    const nodes = nodesOf(value);
    const [mark = new Text(), ...others] = nodes;
    element.replaceWith(mark, ...others);
    return [
      [mark, ...others],
      () => !element.isConnected,
      () => {
        mark.replaceWith(element);
        removeAll(others);
      },
    ];
  },
};

for (const method of /** @type {const} */ (["before", "after", "append"])) {
  ACTIONS[`insert_${method === "append" ? "inside" : method}`] = (element, value) => {
    const nodes = nodesOf(value);
    element[method](...nodes);
    return [nodes, () => nodes.every((node) => node.isConnected), () => removeAll(nodes)];
  };
}

/** @type {Set<Active>} */
const active = new Set();
/** @type {Set<[selector: string, found: (element: Element) => void]>} */
const awaited = new Set();
/** Nodes of ours, by the change that put them there and is not made to them. */
/** @type {WeakMap<Node, Active>} */
const makers = new WeakMap();

/** @type {(one: Active, element: Element) => void} */
const apply = (one, element) => {
  const { change, elements, onError } = one;
  const [before, times = 0] = elements.get(element) ?? [];
  let applied = NOTHING;
  try {
    if (Date.now() - one.since > PERIOD_MS) {
      one.since = Date.now();
      one.count = 0;
    }
    if (times > MOST_TIMES || ++one.count > MOST_IN_PERIOD)
      throw new Error("the page keeps reverting it");
    applied = /** @type {(typeof ACTIONS)[string]} */ (ACTIONS[change.action])(
      element,
      change.value,
      before,
    );
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
    eachMatch(roots, one.change.selector, (element) => {
      if (isNew(one, element)) apply(one, element);
    });
  }
  for (const [selector, found] of awaited) eachMatch(roots, selector, found);
};

/** Make changes again that the page has reverted, and forget elements that it has dropped. */
const repair = () => {
  for (const one of active) {
    for (const [element, [[nodes, holds, undo, setApart]]] of one.elements) {
      const isReplaced = one.change.action === "replace" && nodes.some((node) => node.isConnected);
      if (!element.isConnected && !isReplaced) {
        undo();
        one.elements.delete(element);
      } else if (!holds()) {
        if (document.readyState === "loading") setApart?.();
        if (holds()) continue;
        removeAll(nodes);
        apply(one, element);
      }
    }
  }
};

const observer = new MutationObserver((records) => {
  const added = records.flatMap(({ addedNodes }) => [...addedNodes]);
  keepStyles();
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
  if (active.size || awaited.size || sheets.size)
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

/**
 * Make the changes of a variant, now and to elements that appear later.
 *
 * @param {string} css
 * @param {Change[]} changes
 * @param {OnError} onError
 * @returns {() => void} undoes them
 */
export const makeChanges = (css, changes, onError) => {
  /** @type {Active[]} */
  const mine = [];
  /** @type {Change[]} */
  const styles = [];
  for (const change of changes) {
    try {
      document.querySelector(change.selector);
      if (/^(remove|modify_style)$/.test(change.action)) styles.push(change);
      else mine.push({ change, onError, elements: new Map(), count: 0, since: 0 });
    } catch (error) {
      onError(error, change);
    }
  }
  const removeStyles = addStyles(css, styles, onError);
  for (const one of mine) active.add(one);
  catchUp();
  return () => {
    removeStyles();
    for (const one of mine.reverse()) {
      active.delete(one);
      for (const [[, , undo]] of one.elements.values()) undo();
    }
    catchUp();
  };
};

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
