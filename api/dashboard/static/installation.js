// Copies code, and looks for the first event of a site.
"use strict";

for (const button of document.querySelectorAll("[data-copy]")) {
  // Browsers copy on secure pages only.
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}

const EVERY_MS = 3000;
const state = document.querySelector("#state");

const look = async () => {
  const answer = await fetch(state.dataset.state, { credentials: "same-origin", redirect: "error" });
  if (!answer.ok) return;
  if (!(await answer.json()).is_seen) {
    setTimeout(look, EVERY_MS);
    return;
  }
  state.dataset.seen = "yes";
  state.querySelector(".unseen").hidden = true;
  state.querySelector(".seen").hidden = false;
};

const lookAgain = () => look().catch(() => setTimeout(lookAgain, EVERY_MS));
if (state && state.dataset.seen === "no") lookAgain();
