// Updates of a shop's page, and what a visitor sees after each, with the changes of the test and without.

import { START, statesOf } from "./state.js";

const texts = (selector) =>
  [...document.querySelectorAll(selector)].map(({ textContent }) => textContent);

const seen = () => ({
  title: texts("h1"),
  price: texts(".price"),
  after: texts(".after"),
  items: texts("li:not(.added)"),
  fill: texts(".fill"),
  button: texts("button"),
  box: texts(".box:not([data-truelift])"),
  ours: texts(".new, .ours, .added").sort(),
});

const original = ({ title, price, box, items, isFull }) => ({
  title: [title],
  price: [`Price: ${price} now`],
  after: [title],
  items: items.map(({ name }) => name),
  fill: [`${isFull ? price : ""}${title}`],
  button: [`Buy ${price}`],
  box: box === null ? [] : [box],
  ours: [],
});

const changed = (state) => ({
  ...original(state),
  title: ["New title"],
  price: ["Sale"],
  items: state.items.map(({ name, isSale }) => (isSale ? "Sold" : name)),
  fill: ["Filled"],
  button: ["Order"],
  box: [],
  ours: ["Added", "Inserted", ...(state.box === null ? [] : ["Ours"])],
});

/** Update the page through its framework, and list the updates after which it shows anything else. */
export const update = async (seed, count, isChanged) => {
  const wrong = [];
  for (const state of statesOf(seed, count)) {
    await window.render(state);
    await new Promise((done) => setTimeout(done));
    const [is, should] = [seen(), (isChanged ? changed : original)(state)].map((one) =>
      JSON.stringify(one),
    );
    if (is !== should) wrong.push([is, should]);
  }
  return wrong;
};

window.update = update;
window.START = START;
window.clicks = 0;
window.failures = [];
addEventListener("error", ({ message }) => window.failures.push(message));
addEventListener("unhandledrejection", ({ reason }) => window.failures.push(`${reason}`));
