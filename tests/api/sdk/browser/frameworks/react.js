import "./updates.js";
import { createElement } from "react";
import { flushSync } from "react-dom";
import { createRoot, hydrateRoot } from "react-dom/client";
import { App, set } from "./react_app.js";

const root = document.getElementById("root");
const app = createElement(App, { start: window.START, onClick: () => window.clicks++ });
if (root.firstElementChild)
  hydrateRoot(root, app, { onRecoverableError: (error) => window.failures.push(`${error}`) });
else flushSync(() => createRoot(root).render(app));
window.render = (state) => flushSync(() => set(state));
