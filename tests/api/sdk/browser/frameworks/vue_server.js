import { createSSRApp } from "vue";
import { renderToString } from "vue/server-renderer";
import { START } from "./state.js";
import { TEMPLATE } from "./vue_app.js";

console.log(
  await renderToString(createSSRApp({ template: TEMPLATE, data: () => ({ state: START, click: () => {} }) })),
);
