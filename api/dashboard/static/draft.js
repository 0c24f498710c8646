// Makes the form of a draft nicer: fields that do not apply are hidden, rows come without a new page, and the
// plan follows what is typed.

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement | HTMLButtonElement} Field */

const form = /** @type {HTMLFormElement} */ (document.querySelector("#draft"));

const fields = () => /** @type {Field[]} */ ([...form.elements]);

/**
 * A condition is `field=value|value` or `field!=value`; all of them have to hold.
 * @param {string} condition
 */
const holds = (condition) => {
  const [, name = "", not, values = ""] = condition.match(/^(.*?)(!?)=(.*)$/) ?? [];
  const field = /** @type {Field | null} */ (form.elements.namedItem(name));
  return !field || values.split("|").includes(field.value) !== (not === "!");
};

const showFields = () => {
  form.querySelector(".compute")?.toggleAttribute("hidden", true);
  for (const field of /** @type {NodeListOf<HTMLElement>} */ (
    form.querySelectorAll("[data-when]")
  )) {
    const applies = (field.dataset.when ?? "").split(" ").every(holds);
    // A problem is never hidden.
    field.hidden = !applies && !field.querySelector(".problem");
    for (const input of /** @type {NodeListOf<Field>} */ (
      field.querySelectorAll("input, select, textarea")
    )) {
      input.disabled = field.hidden;
    }
  }
};

/**
 * Sends a button that saves nothing, and shows the form of the answer.
 * @param {HTMLButtonElement} button
 */
const change = async (button) => {
  // A hidden field keeps what was typed in it, too.
  for (const input of fields()) input.disabled = false;
  const sent = /** @type {Iterable<[string, string]>} */ (new FormData(form, button));
  form.setAttribute("aria-busy", "true");
  // Not form.action, which is the buttons of that name.
  const answer = await fetch(form.getAttribute("action") ?? "", {
    method: "POST",
    body: new URLSearchParams([...sent]),
    credentials: "same-origin",
  });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = page.querySelector("#draft");
  if (!next) throw new Error(`the form was answered with ${answer.status}`);
  const open = [...form.querySelectorAll("details")].map((one) => one.open);
  const names = new Set(fields().map((one) => one.name));
  form.replaceChildren(...next.childNodes);
  form.querySelectorAll("details").forEach((one, place) => {
    if (open[place]) one.open = true;
  });
  showFields();
  const added = fields().find(
    (one) => one.name && !names.has(one.name) && one.type !== "hidden" && !one.disabled,
  );
  const again = fields().find((one) => one.value === button.value && one.type === "submit");
  const wrong = /** @type {HTMLElement | null} */ (form.querySelector("[aria-invalid]"));
  (added ?? again ?? wrong)?.focus();
};

const PAUSE = 400;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
let asked = new AbortController();

const plan = async () => {
  asked.abort();
  asked = new AbortController();
  const sent = /** @type {Iterable<[string, string]>} */ (new FormData(form));
  const answer = await fetch(form.dataset.plan ?? "", {
    method: "POST",
    body: new URLSearchParams([...sent]),
    credentials: "same-origin",
    // A session that has ended leads elsewhere; the plan stays until the form is sent.
    redirect: "manual",
    signal: asked.signal,
  });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  form.querySelector("#plan")?.replaceChildren(...page.body.childNodes);
};

form.addEventListener("input", (event) => {
  const field = /** @type {Element} */ (event.target);
  if (!field.closest("#visitors, #goals, #judging, #size")) return;
  clearTimeout(waiting);
  // Only what was typed is planned; an answer that comes too late is of no use.
  waiting = setTimeout(() => plan().catch(() => undefined), PAUSE);
});
form.addEventListener("change", showFields);
form.addEventListener("submit", (event) => {
  const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  if (!button || ["save", "start"].includes(button.value)) return;
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
