// Stub, in the page itself: queues commands until the script has loaded, and shows the page where that is late.
// Its text is the same for every project, so that a policy can name it by its hash.

/** @typedef {{ q: ArrayLike<any>[], late?: boolean, reveal: () => void, [method: string]: unknown }} Queue */

(() => {
  const page = /** @type {{ truelift?: any }} */ (/** @type {unknown} */ (window));
  // Without a stub the name is that of the script's element.
  if (typeof page.truelift === "function") return;
  /** @type {any} */
  const truelift = (/** @type {any[]} */ ...command) => {
    truelift.q.push(command);
  };
  truelift.q = [];
  for (const method of "variant track convert revenue identify consent activate on".split(" ")) {
    truelift[method] = (/** @type {any[]} */ ...given) => truelift(method, ...given);
  }
  page.truelift = truelift;
  const script = /** @type {any} */ (document.getElementById("truelift"));
  if (!script) return;
  /** @type {CSSStyleSheet | undefined} */
  let hiding;
  truelift.reveal = () => {
    script.blocking?.remove("render");
    document.adoptedStyleSheets = document.adoptedStyleSheets?.filter((sheet) => sheet !== hiding);
  };
  const giveUp = () => {
    truelift.late = true;
    truelift.reveal();
  };
  script.addEventListener("error", giveUp);
  setTimeout(giveUp, script.dataset.timeout || 1000);
  // Browsers that cannot block rendering hide the page meanwhile.
  if (!script.blocking?.supports("render")) {
    try {
      hiding = new CSSStyleSheet();
      hiding.replaceSync("html{visibility:hidden!important}");
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, hiding];
    } catch {
      truelift.late = true;
    }
  }
})();
