// Changes that are style rules: they hold before the elements exist, and conflict with no framework.

/** @typedef {import("./config.js").Change} Change */

/** @type {Set<CSSStyleSheet>} */
const sheets = new Set();

/** Add our sheets that the page lacks: one that assigns a list of its own drops them. */
const keepStyles = () => {
  const theirs = document.adoptedStyleSheets;
  const lost = [...sheets].filter((sheet) => !theirs.includes(sheet));
  if (lost.length) document.adoptedStyleSheets = [...theirs, ...lost];
};

const observer = new MutationObserver(keepStyles);

/**
 * Add rules to the page.
 *
 * @param {string} css
 * @param {Change[]} changes of style, and removals
 * @param {(error: unknown, change: Change) => void} onError
 * @returns {() => void} removes them
 */
export const addStyles = (css, changes, onError) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  sheets.add(sheet);
  keepStyles();
  observer.observe(document, { childList: true, subtree: true });
  for (const change of changes) {
    try {
      const declarations = change.action === "remove" ? "display:none" : change.value;
      const index = sheet.insertRule(`${change.selector}{${declarations}}`, sheet.cssRules.length);
      const { style } = /** @type {CSSStyleRule} */ (sheet.cssRules[index]);
      for (const name of [...style])
        style.setProperty(name, style.getPropertyValue(name), "important");
    } catch (error) {
      onError(error, change);
    }
  }
  return () => {
    sheets.delete(sheet);
    if (!sheets.size) observer.disconnect();
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
  };
};
