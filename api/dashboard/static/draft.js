// Makes the form of a draft nicer: fields that do not apply are hidden, and rows come without a new page.
"use strict";

const form = document.querySelector("#draft");

// A condition is `field=value|value` or `field!=value`; all of them have to hold.
const holds = (condition) => {
  const [, name, not, values] = condition.match(/^(.*?)(!?)=(.*)$/);
  const field = form.elements[name];
  return !field || values.split("|").includes(field.value) !== (not === "!");
};

const showFields = () => {
  for (const field of form.querySelectorAll("[data-when]")) {
    const applies = field.dataset.when.split(" ").every(holds);
    // A problem is never hidden.
    field.hidden = !applies && !field.querySelector(".problem");
    for (const input of field.querySelectorAll("input, select, textarea")) input.disabled = field.hidden;
  }
};

// Sends a button that saves nothing, and shows the form of the answer.
const change = async (button) => {
  // A hidden field keeps what was typed in it, too.
  for (const input of form.querySelectorAll(":disabled")) input.disabled = false;
  const body = new URLSearchParams(new FormData(form, button));
  form.setAttribute("aria-busy", "true");
  // Not form.action, which is the buttons of that name.
  const answer = await fetch(form.getAttribute("action"), { method: "POST", body, credentials: "same-origin" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = page.querySelector("#draft");
  if (!next) throw new Error(`the form was answered with ${answer.status}`);
  const open = [...form.querySelectorAll("details")].map((one) => one.open);
  const names = new Set([...form.elements].map((one) => one.name));
  form.replaceChildren(...next.childNodes);
  form.querySelectorAll("details").forEach((one, place) => {
    if (open[place]) one.open = true;
  });
  showFields();
  const added = [...form.elements].find((one) => one.name && !names.has(one.name) && one.type !== "hidden" && !one.disabled);
  const again = [...form.elements].find((one) => one.value === button.value && one.type === "submit");
  (added ?? again ?? form.querySelector("[aria-invalid]"))?.focus();
};

form.addEventListener("change", showFields);
form.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button || button.value === "save") return;
  event.preventDefault();
  change(button)
    .catch((error) => {
      // As without a script.
      console.error(String(error));
      const action = document.createElement("input");
      Object.assign(action, { type: "hidden", name: "action", value: button.value });
      form.append(action);
      form.submit();
    })
    .finally(() => form.removeAttribute("aria-busy"));
});
showFields();
