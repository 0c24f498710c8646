// A shop of one page: products, a cart and orders. It keeps a log of what it shows, and of what it tells.
import { createElement as h, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const PRICES = { shirt: 1900, hat: 2500, coat: 14_900 };
const ID = `${Date.now()}-${Math.random()}`;
// Each page has a log of its own: two that write to one may lose what the other wrote.
const lines = [];
const log = (kind, fields = {}) => {
  lines.push({ page: ID, number: lines.length, time: performance.timeOrigin + performance.now(), kind, ...fields });
  localStorage.setItem(`log ${ID}`, JSON.stringify(lines));
};
const { truelift } = window;
const shop = (window.shop = { isDecided: false, isLeaving: false, frames: 0 });
const decide = (isLoaded) => () => {
  shop.isDecided = true;
  log("script", { isLoaded, path: location.pathname });
  rest();
};
truelift.on("exposure", ({ test_key, index }) => log("exposure", { test: test_key, index }));
truelift.on("error", (error) => log("failure", { error: JSON.stringify(error) }));
addEventListener("error", ({ message }) => log("failure", { error: message }));

/** Log what is shown once the page has been painted. */
const rest = () => {
  const mine = ++shop.frames;
  const path = location.pathname;
  const look = () => {
    if (mine !== shop.frames) return;
    shop.frames = 0;
    // A page that is hidden until the script comes shows nothing.
    if (getComputedStyle(document.documentElement).visibility === "hidden") return;
    if (path !== location.pathname || !path.startsWith("/product/")) return;
    log("shown", { text: document.querySelector(".delivery").textContent });
  };
  const next = (callback) => (document.hidden ? setTimeout : requestAnimationFrame)(callback);
  next(() => next(() => next(look)));
};
shop.isAtRest = () => shop.isDecided && !shop.isLeaving && !shop.frames && document.querySelector("main") !== null;

let setPath = () => {};
const go = (path) => {
  history.pushState(null, "", path);
  setPath(path);
  rest();
};
const arrive = () => {
  shop.isLeaving = false;
  setPath(location.pathname);
  rest();
};
if (truelift.loaded) decide(true)();
else if (truelift.late) decide(false)();
else {
  const element = document.getElementById("truelift");
  element.addEventListener("load", decide(true));
  element.addEventListener("error", decide(false));
}
addEventListener("popstate", arrive);
addEventListener("pageshow", ({ persisted }) => persisted && arrive());

const cents = () => Number(localStorage.getItem("cart")) || 0;

const Product = ({ name }) => {
  useEffect(() => {
    truelift.track("view_product");
    log("told", { event: "view_product" });
  }, [name]);
  const add = () => {
    localStorage.setItem("cart", cents() + PRICES[name]);
    truelift.track("add_to_cart");
    log("told", { event: "add_to_cart" });
  };
  return h(
    "section",
    null,
    h("h1", null, name),
    h("p", { className: "price" }, "Price: ", h("b", null, PRICES[name] / 100)),
    h("p", { className: "delivery" }, "Delivery in three days"),
    h("button", { id: "add", onClick: add }, "Add to cart"),
  );
};

const Cart = () => {
  const [isFree, setFree] = useState(false);
  useEffect(() => {
    truelift.variant("free-shipping", (variant) => {
      log("feature", { index: variant?.index ?? null });
      setFree(variant?.index === 1);
    });
  }, []);
  const order = () => {
    const id = `order-${ID}-${lines.length}`;
    localStorage.setItem(id, cents() + (isFree ? 0 : 500));
    localStorage.removeItem("cart");
    go(`/order/${id}`);
  };
  return h("section", null, h("p", null, isFree ? "Free shipping" : "Shipping: 5"), h("button", { id: "order", onClick: order }, "Order"));
};

// As thank-you pages do, it tells of the order each time it is shown.
const Order = ({ id }) => {
  useEffect(() => {
    const revenue = Number(localStorage.getItem(id));
    truelift.revenue(revenue, { transaction_id: id });
    log("told", { event: "purchase", order: id, revenue });
  }, [id]);
  return h("h1", null, "Thank you");
};

const Shop = () => {
  const [path, set] = useState(location.pathname);
  setPath = set;
  const [, kind, name] = path.split("/");
  const pages = { product: () => h(Product, { name, key: name }), cart: () => h(Cart), order: () => h(Order, { id: name, key: name }) };
  const links = ["/", "/cart", ...Object.keys(PRICES).map((one) => `/product/${one}`)];
  return h(
    "main",
    null,
    h("nav", null, links.map((to) => h("button", { key: to, title: to, onClick: () => go(to) }, to))),
    pages[kind]?.() ?? h("h1", null, "Shop"),
  );
};

createRoot(document.getElementById("root")).render(h(Shop));
rest();
