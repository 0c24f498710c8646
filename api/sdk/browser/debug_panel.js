// Panel: what happens on the page, in a shadow root that neither the page's styles nor its policy reach.

/** @typedef {{ text: string, holds: boolean, parts?: Line[] }} Line */
/** @typedef {{ id: string, name: string, isShown: boolean }} Choice */
/** @typedef {{ id: string, title: string, sentence: string, rules: Line[], changes: string[], choices: Choice[] }} Section */
/** @typedef {{ notes: string[], sections: Section[], events: { text: string, verdict: string }[] | null, isChosen: boolean }} View */
/** @typedef {{ choose: (experiment: string, variant: string) => void, reset: () => void, close: () => void }} Acts */

const RULES = `
:host{all:initial;position:fixed;bottom:12px;right:12px;z-index:2147483647}
section{box-sizing:border-box;width:min(420px,calc(100vw - 24px));max-height:70vh;overflow:auto;padding:12px 16px;
 border-radius:8px;border:1px solid #57606a;background:#1b1f24;color:#fff;font:14px/1.45 system-ui,sans-serif}
h2,h3{font-size:15px;margin:0 0 4px}h3{margin-top:12px}p{margin:4px 0}ul{margin:4px 0;padding-left:18px}
summary{cursor:pointer;font-weight:600;margin-top:8px}li,p{overflow-wrap:anywhere}
button{font:inherit;color:#fff;background:#2d333b;border:1px solid #8b949e;border-radius:6px;padding:2px 8px;margin:4px 6px 0 0;cursor:pointer}
button[aria-pressed=true]{background:#0b5cad}
.top{display:flex;justify-content:space-between;align-items:start}
:focus-visible{outline:2px solid #fff;outline-offset:2px}`;

/** @type {(name: string, text: string, ...children: Node[]) => HTMLElement} */
const element = (name, text, ...children) => {
  const made = document.createElement(name);
  made.append(text, ...children);
  return made;
};

/** @type {(name: string, text: string, act: () => void) => HTMLElement} */
const button = (name, text, act) => {
  const made = element("button", text);
  made.dataset.name = name;
  made.addEventListener("click", act);
  return made;
};

/** @type {(items: HTMLElement[]) => HTMLElement} */
const list = (items) => element("ul", "", ...items);

/** @type {(line: Line) => HTMLElement} */
const ruleOf = ({ text, holds, parts }) =>
  element("li", `${holds ? "✓" : "✗"} ${text}`, ...(parts ? [list(parts.map(ruleOf))] : []));

/** @type {(section: Section, acts: Acts) => HTMLElement} */
const sectionOf = ({ id, title, sentence, rules, changes, choices }, acts) => {
  const made = element("details", "", element("summary", title), element("p", sentence));
  made.dataset.name = id;
  if (rules.length) made.append(list(rules.map(ruleOf)));
  if (changes.length)
    made.append(element("p", "Changes"), list(changes.map((text) => element("li", text))));
  for (const { id: variant, name, isShown } of choices) {
    const choice = button(`${id} ${variant}`, `Show ${name}`, () => acts.choose(id, variant));
    choice.setAttribute("aria-pressed", `${isShown}`);
    made.append(choice);
  }
  return made;
};

const CHOSEN =
  "Variants that you choose are shown in this tab alone and count nowhere: nothing is sent or stored of them, and they end with the tab.";

/** @type {(view: View, acts: Acts) => HTMLElement} */
const contentOf = ({ notes, sections, events, isChosen }, acts) => {
  const top = element("div", "", element("h2", "Truelift"), button("close", "Close", acts.close));
  top.className = "top";
  const made = element("section", "", top, ...notes.map((text) => element("p", text)));
  made.setAttribute("aria-label", "Truelift: what happens on this page");
  // A region that scrolls must be reachable without a mouse.
  made.tabIndex = 0;
  made.append(...sections.map((one) => sectionOf(one, acts)));
  if (sections.some(({ choices }) => choices.length)) made.append(element("p", CHOSEN));
  if (isChosen) made.append(button("reset", "Back to the visitor's own variants", acts.reset));
  if (events) {
    const items = events.map(({ text, verdict }) => element("li", `${text}: ${verdict}`));
    made.append(element("h3", "Events"), items.length ? list(items) : element("p", "None so far."));
  }
  return made;
};

/**
 * Open the panel.
 *
 * @param {Acts} acts
 * @returns {{ show: (view: View) => void, close: () => void }} shows a view, what is open staying open
 */
export const openPanel = (acts) => {
  const host = document.createElement("truelift-debug");
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(RULES);
  root.adoptedStyleSheets = [sheet];
  host.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") acts.close();
  });
  let shown = "";
  /** @type {(name: string | undefined) => HTMLElement | undefined} */
  const named = (name) =>
    /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-name]")]).find(
      ({ dataset }) => dataset.name === name,
    );
  return {
    show: (view) => {
      // The page may have replaced its body.
      if (!host.isConnected) document.body?.append(host);
      const text = JSON.stringify(view);
      if (text === shown) return;
      shown = text;
      const open = [...root.querySelectorAll("details[open]")].map(
        (one) => /** @type {HTMLElement} */ (one).dataset.name,
      );
      const active = /** @type {HTMLElement | null} */ (root.activeElement);
      const focused = active?.dataset.name ?? active?.parentElement?.dataset.name;
      const top = root.querySelector("section")?.scrollTop ?? 0;
      const content = contentOf(view, acts);
      root.replaceChildren(content);
      for (const name of open) named(name)?.setAttribute("open", "");
      const again = named(focused);
      (again?.querySelector("summary") ?? again ?? (active && content))?.focus();
      content.scrollTop = top;
    },
    close: () => host.remove(),
  };
};
