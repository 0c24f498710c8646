import { createElement as h, useState } from "react";

let setState = () => {};
export const set = (state) => setState(state);

export const App = ({ start, onClick }) => {
  const [state, setOwn] = useState(start);
  setState = setOwn;
  const { title, price, box, items, isFull } = state;
  return h(
    "main",
    null,
    h("h1", null, title),
    h("p", { className: "price" }, "Price: ", h("b", null, price), " now"),
    box !== null && h("aside", { className: "box" }, h("span", null, box)),
    h("p", { className: "after" }, title),
    h(
      "ul",
      null,
      items.map(({ id, name, isSale }) => h("li", { key: id, className: isSale ? "sale" : "" }, name)),
    ),
    h("div", { className: "fill" }, isFull ? h("em", null, price) : null, title),
    h("button", { onClick }, "Buy ", price),
  );
};
