import "./updates.js";

class ShopPage extends HTMLElement {
  set state({ title, price, box, items, isFull }) {
    const list = items.map(({ name, isSale }) => `<li class="${isSale ? "sale" : ""}">${name}</li>`);
    this.innerHTML = `<h1>${title}</h1><p class="price">Price: <b>${price}</b> now</p>
      ${box === null ? "" : `<aside class="box"><span>${box}</span></aside>`}
      <p class="after">${title}</p><ul>${list.join("")}</ul>
      <div class="fill">${isFull ? `<em>${price}</em>` : ""}${title}</div>`;
    const button = document.createElement("button");
    button.textContent = `Buy ${price}`;
    button.onclick = () => window.clicks++;
    this.append(button);
  }
}
customElements.define("shop-page", ShopPage);
const page = document.createElement("shop-page");
document.getElementById("root").append(page);
window.render = (state) => {
  page.state = state;
};
window.render(window.START);
