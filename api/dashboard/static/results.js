// Adds to charts over time what the pointer or the arrow keys are on, in words; without it they have titles.
// Adds a search to a long table of goals.

/** @param {HTMLElement} chart */
const addReading = (chart) => {
  const plot = /** @type {SVGElement} */ (chart.querySelector("svg.plot"));
  const days = [...chart.querySelectorAll("rect")].filter((one) => one.querySelector("title"));
  const line = document.createElement("p");
  line.className = "told";
  line.setAttribute("aria-live", "polite");
  line.textContent = "Point at a part of the chart, or use the arrow keys.";
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
  addReading(/** @type {HTMLElement} */ (chart));

const MOST_GOALS = 12;

/** @param {HTMLElement} goals */
const addSearch = (goals) => {
  const openers = [...goals.querySelectorAll("tr:has(> th > .open)")];
  if (openers.length <= MOST_GOALS) return;
  const input = document.createElement("input");
  input.className = "find";
  input.type = "search";
  input.placeholder = `Find one of ${openers.length} goals`;
  input.setAttribute("aria-label", "Find a goal");
  goals.querySelector("header")?.append(input);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    for (const fold of goals.querySelectorAll("details.fold"))
      fold.toggleAttribute("open", wanted !== "");
    let isShown = true;
    for (const row of goals.querySelectorAll("tr:not(.group, thead tr, .counts tr)")) {
      const name = row.querySelector(".open summary")?.textContent;
      if (name) isShown = name.toLowerCase().includes(wanted);
      row.toggleAttribute("hidden", !isShown);
    }
  });
};

const goals = document.querySelector("section:has(> table.goals)");
if (goals) addSearch(/** @type {HTMLElement} */ (goals));
