// Changes of one element, each with what undoes it. A page's framework keeps its nodes with their parents.

/**
 * A change as it is made to one element: our nodes in the page, whether the page still has it, how to undo it,
 * and how to keep it without making it anew.
 *
 * @typedef {[nodes: ChildNode[], holds: () => boolean, undo: () => void, settle?: () => unknown]} Applied
 */

const HIDDEN = "data-truelift";
const CONTROLS = "button,input,object,output,select,textarea";

/** Our nodes in the page, which its framework does not see when it walks the tree. */
/** @type {WeakSet<Node>} */
const ours = new WeakSet();

/** @type {(name: "firstChild" | "nextSibling" | "textContent") => PropertyDescriptor} */
const native = (name) =>
  /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(Node.prototype, name));
const nextSibling = native("nextSibling");
const firstChild = native("firstChild");

/** @type {(nodes: ChildNode[]) => void} */
const removeAll = (nodes) => {
  for (const node of nodes) node.remove();
};

/** @type {(node: Node | null) => Node | null} the next one of the page's own */
const skipOurs = (node) => {
  let own = node;
  while (own && ours.has(own)) own = nextSibling.get?.call(own);
  return own;
};

/** Let the way to the first of our nodes lead to the page's next one: what hydrates compares them. */
/** @type {(nodes: ChildNode[]) => void} */
const stepOver = (nodes) => {
  const [first] = nodes;
  for (const node of nodes) ours.add(node);
  const before = first?.previousSibling;
  const [from, name, property] = before
    ? /** @type {const} */ ([before, "nextSibling", nextSibling])
    : /** @type {const} */ ([first?.parentNode, "firstChild", firstChild]);
  if (!from || Object.getOwnPropertyDescriptor(from, name)) return;
  Object.defineProperty(from, name, {
    configurable: true,
    get: () => skipOurs(property.get?.call(from)),
  });
};

/** @type {(element: Element, theirs: DocumentFragment) => PropertyDescriptorMap} */
const asBefore = (element, theirs) => ({
  firstChild: { get: () => theirs.firstChild },
  lastChild: { get: () => theirs.lastChild },
  childNodes: { get: () => theirs.childNodes },
  textContent: {
    get: () => native("textContent").get?.call(element),
    set: (text) => {
      theirs.textContent = text;
    },
  },
  insertBefore: {
    value: (/** @type {Node} */ node, /** @type {Node | null} */ next) =>
      theirs.insertBefore(node, next?.parentNode === theirs ? next : null),
  },
  appendChild: { value: (/** @type {Node} */ node) => theirs.appendChild(node) },
  removeChild: {
    value: (/** @type {ChildNode} */ node) => {
      node.remove();
      return node;
    },
  },
  replaceChild: {
    value: (/** @type {ChildNode} */ node, /** @type {ChildNode} */ old) => {
      old.replaceWith(node);
      return old;
    },
  },
});

/**
 * Show our nodes in an element. Its own wait in a fragment, where the page's framework goes on with them: what
 * it asks of the element is answered by the fragment.
 */
/** @type {(element: any, nodes: ChildNode[]) => Applied} */
const contents = (element, nodes) => {
  const shown = nodes.length ? nodes : [new Text()];
  const last = /** @type {ChildNode} */ (shown[shown.length - 1]);
  const text = last instanceof Text ? last.data : "";
  const theirs = document.createDocumentFragment();
  const properties = asBefore(element, theirs);
  const reveal = () => {
    for (const name of Object.keys(properties)) delete element[name];
  };
  const holds = () =>
    !shown[0]?.previousSibling &&
    shown.every(
      (node, index) =>
        node.parentNode === element && skipOurs(node.nextSibling) === (shown[index + 1] ?? null),
    ) &&
    (!(last instanceof Text) || last.data === text);
  // Not what another change has inserted.
  theirs.append(...[...element.childNodes].filter((node) => !ours.has(node)));
  element.prepend(...shown);
  for (const property of Object.values(properties)) property.configurable = true;
  Object.defineProperties(element, properties);
  return [
    shown,
    holds,
    () => {
      const isShown = shown.some((node) => node.parentNode === element);
      reveal();
      removeAll(shown);
      // Else the page has made its own content anew.
      if (isShown) element.prepend(theirs);
    },
    () => {
      // The parser adds characters to the text node before its place, ours included.
      if (last instanceof Text && last.data !== text && document.readyState === "loading") {
        theirs.append(last.data.slice(text.length));
        last.data = text;
      }
      if (shown.some((node) => node.parentNode !== element)) return;
      // Added around ours by ways that no property answers.
      while (shown[0]?.previousSibling) theirs.prepend(shown[0].previousSibling);
      for (let next = skipOurs(last.nextSibling); next; next = skipOurs(last.nextSibling))
        theirs.append(next);
    },
  ];
};

/** @type {(assignment: string) => [name: string, value: string | null]} */
export const attributeParts = (assignment) => {
  const [, name = "", value = null] = /^\s*([^=\s]+)\s*(?:=(.*))?$/s.exec(assignment) ?? [];
  return [name, value];
};

/** @type {(token: string) => string} */
const className = (token) => token.replace(/^[+-]/, "");

/**
 * What of an element a change sets, each part within those that it starts with; empty for what it adds.
 *
 * @type {(action: string, value: string) => string}
 */
export const subjectOf = (action, value) => {
  if (action === "modify_class") return `@class ${className(value)} `;
  if (action === "modify_attribute") return `@${attributeParts(value)[0].toLowerCase()} `;
  if (action === "replace") return "element ";
  return /^modify_/.test(action) ? "contents " : "";
};

/** @type {(element: Element, name: string, value: string | null) => void} */
const setAttribute = (element, name, value) => {
  // Policies refuse the attribute, but not the property.
  if (name === "style") /** @type {HTMLElement} */ (element).style.cssText = value ?? "";
  else if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
};

let isHiding = false;

/** @type {Record<string, (element: Element, value: string) => Applied>} */
export const ACTIONS = {
  modify_text: (element, value) => contents(element, [new Text(value)]),
  modify_html: (element, value) => contents(element, PARTS.nodesOf(value)),
  modify_attribute(element, assignment) {
    const [name, value] = attributeParts(assignment);
    const read = () => element.getAttribute(name);
    const original = read();
    setAttribute(element, name, value);
    const written = read();
    const holds = () => read() === written;
    return [[], holds, () => holds() && setAttribute(element, name, original)];
  },
  modify_class({ classList }, token) {
    const [name, isAdded] = [className(token), token[0] !== "-"];
    const holds = () => classList.contains(name) === isAdded;
    const isChanged = !holds();
    classList.toggle(name, isAdded);
    return [[], holds, () => isChanged && classList.toggle(name, !isAdded)];
  },
  /** The element stays where it is, unseen, and out of its form. */
  replace(element, value) {
    const nodes = PARTS.nodesOf(value);
    // A browser takes the first source of a picture.
    const side = element.matches("source") ? "before" : "after";
    const controls = [element, ...element.querySelectorAll(CONTROLS)].filter((one) =>
      one.matches(CONTROLS),
    );
    const forms = controls.map((one) => one.getAttribute("form"));
    if (!isHiding) PARTS.addStyles(`[${HIDDEN}]{display:none!important}`, [], () => {});
    isHiding = true;
    const place = () => {
      element[side](...nodes);
      stepOver(nodes);
    };
    element.setAttribute(HIDDEN, "");
    for (const one of controls) one.setAttribute("form", HIDDEN);
    place();
    const holds = () => {
      /** @type {Node} */
      let previous = element;
      const inOrder = side === "after" ? nodes : [...nodes].reverse();
      return (
        element.hasAttribute(HIDDEN) &&
        inOrder.every((node) => {
          const isNext = (side === "after" ? node.previousSibling : node.nextSibling) === previous;
          previous = node;
          return isNext;
        })
      );
    };
    return [
      nodes,
      holds,
      () => {
        element.removeAttribute(HIDDEN);
        controls.forEach((one, index) => {
          setAttribute(one, "form", forms[index] ?? null);
        });
        removeAll(nodes);
      },
      () => {
        // A list that was put in another order moves the element alone.
        if (element.hasAttribute(HIDDEN) && nodes.every((node) => node.isConnected)) place();
      },
    ];
  },
};

for (const method of /** @type {const} */ (["before", "after", "append"])) {
  ACTIONS[`insert_${method === "append" ? "inside" : method}`] = (element, value) => {
    const nodes = PARTS.nodesOf(value);
    const place = () => {
      element[method](...nodes);
      stepOver(nodes);
    };
    const isThere = () => nodes.every((node) => node.isConnected);
    const isBeside = () => {
      const last = nodes[nodes.length - 1];
      if (method === "append" || !last) return true;
      if (method === "before") return skipOurs(last.nextSibling) === element;
      let before = nodes[0]?.previousSibling;
      while (before && ours.has(before)) before = before.previousSibling;
      return before === element;
    };
    place();
    return [
      nodes,
      () => isThere() && isBeside(),
      () => removeAll(nodes),
      // As above, of an element that was moved.
      () => isThere() && place(),
    ];
  };
}
