// Trusted Types: the policy under which HTML and script addresses of the project's experiments are used.

/** @type {{ createHTML(text: string): string, createScriptURL(text: string): string } | undefined} */
let policy;

/** @type {<Kind extends "createHTML" | "createScriptURL">(kind: Kind, text: string) => string} */
const trusted = (kind, text) => {
  /** @type {any} */
  const factory = /** @type {any} */ (window).trustedTypes;
  if (!factory) return text;
  const same = (/** @type {string} */ given) => given;
  policy ??= factory.createPolicy("truelift", { createHTML: same, createScriptURL: same });
  return /** @type {any} */ (policy)[kind](text);
};

/**
 * Parse HTML; its scripts do not run.
 *
 * @param {string} html
 * @returns {ChildNode[]}
 */
export const nodesOf = (html) => {
  const template = document.createElement("template");
  template.innerHTML = trusted("createHTML", html);
  return [...template.content.childNodes];
};

/**
 * Load a script of the service.
 *
 * @param {string} url
 * @param {string} nonce
 */
export const loadScript = (url, nonce) => {
  const script = document.createElement("script");
  script.src = trusted("createScriptURL", url);
  script.nonce = nonce;
  document.head.append(script);
};
