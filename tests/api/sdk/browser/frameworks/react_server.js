import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { App } from "./react_app.js";
import { START } from "./state.js";

console.log(renderToString(createElement(App, { start: START })));
