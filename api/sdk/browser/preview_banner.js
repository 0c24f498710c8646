// Banner of a preview: what is shown, and the way out.

const RULES =
  ":host{all:initial;position:fixed;bottom:12px;left:12px;z-index:2147483647;padding:8px 12px;" +
  "border-radius:6px;background:#1b1f24;color:#fff;font:14px/1.4 system-ui,sans-serif}" +
  "button{all:unset;cursor:pointer;margin-left:12px;text-decoration:underline}" +
  "button:focus-visible{outline:2px solid #fff}";

/**
 * Show a text and a button.
 *
 * @param {string} text
 * @param {() => void} exit
 */
export const showBanner = (text, exit) => {
  const host = document.createElement("truelift-preview");
  host.setAttribute("role", "status");
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(RULES);
  root.adoptedStyleSheets = [sheet];
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Exit preview";
  button.addEventListener("click", exit);
  root.append(text, button);
  const show = () => document.body.append(host);
  if (document.body) show();
  else document.addEventListener("DOMContentLoaded", show);
};
