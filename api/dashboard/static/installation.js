// Looks for the first event of a site.

const EVERY_MS = 3000;

/** @param {HTMLElement} state */
const look = async (state) => {
  const address = state.dataset.state ?? "";
  const answer = await fetch(address, { credentials: "same-origin", redirect: "error" });
  if (!answer.ok) return;
  if (!(await answer.json()).is_seen) {
    setTimeout(lookAgain, EVERY_MS, state);
    return;
  }
  state.dataset.seen = "yes";
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (
    state.querySelectorAll(".seen, .unseen")
  )) {
    part.hidden = part.classList.contains("unseen");
  }
};

/** @param {HTMLElement} state */
const lookAgain = (state) => look(state).catch(() => setTimeout(lookAgain, EVERY_MS, state));

const shown = /** @type {HTMLElement | null} */ (document.querySelector("#state"));
if (shown?.dataset.seen === "no") lookAgain(shown);
