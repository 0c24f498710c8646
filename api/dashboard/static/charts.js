// Draws the charts of a page from their Vega-Lite specifications.

// No evaluation of text as code: the page's Content-Security-Policy forbids it.
const OPTIONS = { ast: true, actions: false, defaultStyle: false, renderer: "svg", tooltip: false };
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @param {HTMLElement} figure */
const draw = async (figure) => {
  const { chart, query } = figure.dataset;
  const theme = dark.matches ? "dark" : "light";
  const answer = await fetch(`${chart}/${theme}.json?${query}`, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(`the chart was answered with ${answer.status}`);
  const box = document.createElement("div");
  box.className = "scroll";
  // On a narrow screen it scrolls, which takes the keyboard.
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", figure.getAttribute("aria-label") ?? "");
  await vegaEmbed(box, await answer.json(), OPTIONS);
  // Its marks are no text; the table has the same numbers.
  box.querySelector("svg")?.setAttribute("aria-hidden", "true");
  figure.replaceChildren(box);
};

// One after the other: Vega is not made for drawing several at once.
const drawAll = async () => {
  for (const figure of document.querySelectorAll("[data-chart]")) {
    await draw(/** @type {HTMLElement} */ (figure)).catch((error) => {
      console.error(String(error));
      const note = document.createElement("p");
      note.textContent = "This chart could not be drawn. The table has the same numbers.";
      figure.replaceChildren(note);
    });
  }
};

let drawn = drawAll();
dark.addEventListener("change", () => {
  drawn = drawn.then(drawAll);
});
