import "./updates.js";
import { flushSync, mount } from "svelte";
import Shop from "./Shop.svelte";

const shop = mount(Shop, {
  target: document.getElementById("root"),
  props: { start: window.START, onclick: () => window.clicks++ },
});
window.render = (state) => flushSync(() => shop.set(state));
