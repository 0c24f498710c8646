import "./updates.js";
import { createApp, createSSRApp, nextTick } from "vue";
import { TEMPLATE } from "./vue_app.js";

const root = document.getElementById("root");
const make = root.firstElementChild ? createSSRApp : createApp;
const app = make({
  template: TEMPLATE,
  data: () => ({ state: window.START }),
  methods: { click: () => window.clicks++ },
});
app.config.errorHandler = (error) => window.failures.push(`${error}`);
const page = app.mount(root);
window.render = (state) => {
  page.state = state;
  return nextTick();
};
