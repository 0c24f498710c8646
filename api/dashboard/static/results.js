// Adds to charts over time what the pointer or the arrow keys are on, in words; without it they have titles.

/** @param {HTMLElement} chart */
const add = (chart) => {
  const plot = /** @type {SVGElement} */ (chart.querySelector("svg.plot"));
  const days = [...chart.querySelectorAll("rect")].filter((one) => one.querySelector("title"));
  const line = document.createElement("p");
  line.className = "told";
  line.setAttribute("aria-live", "polite");
  line.textContent = "Point at a day, or use the arrow keys.";
  chart.after(line);
  let place = -1;

  /** @param {number} next */
  const tell = (next) => {
    days[place]?.classList.remove("at");
    place = Math.min(Math.max(next, 0), days.length - 1);
    days[place]?.classList.add("at");
    line.textContent = days[place]?.querySelector("title")?.textContent ?? "";
  };

  plot.setAttribute("tabindex", "0");
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[/** @type {KeyboardEvent} */ (event).key];
    if (step === undefined) return;
    event.preventDefault();
    tell(place < 0 ? days.length - 1 : place + step);
  });
  for (const [next, day] of days.entries()) day.addEventListener("pointerenter", () => tell(next));
};

for (const chart of document.querySelectorAll("[data-plot]"))
  add(/** @type {HTMLElement} */ (chart));
