// Checks a page that it opens: what the panel there reports, and in words what is missing.

/** @typedef {{ project_id: string, sdk_key: string, base: string, blocked: string[], hindrance: string | null, isReached: boolean | null, judged: number, refused: number }} Report */
/** @typedef {{ isFine: boolean | null, text: string }} Finding whether it is fine; null while that is open */

const EVERY_MS = 500;
const FOUND_WITHIN_MS = 15_000;
const LONGEST_MS = 120_000;

/** Why the page sends no events. */
const HINDRANCES = new Map([
  ["chosen", "Variants are chosen in that tab: go back to your own in its panel."],
  ["dnt", "Your browser sends DNT, which the project respects: check with another browser."],
  ["gpc", "Your browser sends GPC, which the project respects: check with another browser."],
  ["bot", "Your browser looks like a bot's: check with one that nothing automates."],
  ["pending", "The page waits for consent: agree to its question there."],
  ["denied", "Consent was refused in this browser: agree on the page, or use a private window."],
]);

const form = /** @type {HTMLFormElement} */ (document.querySelector("#check"));
const list = /** @type {HTMLElement} */ (document.querySelector("#findings"));
const problem = /** @type {HTMLElement} */ (document.querySelector("#problem-page"));
const opened = /** @type {HTMLElement} */ (document.querySelector("#opened"));
const state = /** @type {HTMLElement} */ (document.querySelector("#state"));
const { project = "", key = "", base = "" } = form.dataset;

/** @type {(value: unknown) => boolean} */
const isText = (value) => typeof value === "string" && value.length <= 300;

/**
 * Whether a message is a report of the panel. The page's other scripts may send anything.
 *
 * @param {any} data
 * @param {string} check
 * @returns {data is Report}
 */
const isReport = (data, check) =>
  data?.truelift === "report" &&
  data.check === check &&
  [data.project_id, data.sdk_key, data.base].every(isText) &&
  Array.isArray(data.blocked) &&
  data.blocked.every((/** @type {unknown} */ one) => /^[a-z-]{1,40}$/.test(`${one}`)) &&
  (data.hindrance === null || HINDRANCES.has(data.hindrance)) &&
  [true, false, null].includes(data.isReached) &&
  Number.isInteger(data.judged) &&
  Number.isInteger(data.refused);

/** @type {(address: string) => string} */
const plain = (address) => address.replace(/\/$/, "");

/** @type {(report: Report) => Finding} */
const ofKey = ({ project_id, sdk_key }) => {
  if (project_id !== project)
    return {
      isFine: false,
      text: "The snippet there is of another project: put in the one below.",
    };
  return sdk_key === key
    ? { isFine: true, text: "The key is that of this project." }
    : { isFine: false, text: "The snippet there has an older key: put in the one below." };
};

/** @type {(report: Report) => Finding} */
const ofAddress = (report) => {
  if (plain(report.base) !== plain(base))
    return {
      isFine: false,
      text: `The snippet there sends to another address than ${base}: put in the one below.`,
    };
  if (report.isReached === false)
    return { isFine: false, text: `The page does not reach ${base}: open that address there.` };
  return report.isReached
    ? { isFine: true, text: `The page reaches ${base}.` }
    : { isFine: null, text: `The page asks ${base}.` };
};

/** @type {(report: Report) => Finding} */
const ofPolicy = ({ blocked }) =>
  blocked.length
    ? {
        isFine: false,
        text: `The page's Content-Security-Policy blocks the snippet (${blocked.join(", ")}): add what is below.`,
      }
    : { isFine: true, text: "The page's Content-Security-Policy blocks nothing of the snippet." };

/** @type {(report: Report) => Finding} */
const ofEvents = ({ judged, hindrance, refused }) => {
  if (judged > 0) return { isFine: true, text: "The service has received events of the page." };
  if (hindrance) return { isFine: false, text: `No event: ${HINDRANCES.get(hindrance)}` };
  return refused
    ? {
        isFine: false,
        text: `The service refuses events of the page (${refused}): see the panel there.`,
      }
    : { isFine: null, text: "No event of the page has been received yet." };
};

/** @type {(report: Report) => Finding[]} */
const findingsOf = (report) => [
  { isFine: true, text: "The script was found." },
  ofKey(report),
  ofAddress(report),
  ofPolicy(report),
  ofEvents(report),
];

const earlier = () =>
  state.dataset.seen === "yes"
    ? { isFine: true, text: "The service has received events of the site before." }
    : { isFine: null, text: "The service has received no event of the site yet." };

/** @type {(text: string) => Finding[]} */
const failed = (text) => [{ isFine: false, text }, earlier()];

/** @type {(origin: string) => string} */
const notFound = (origin) =>
  `No script has answered at ${origin} within ${FOUND_WITHIN_MS / 1000} seconds: put the snippet into the head of ` +
  "the page, add the Content-Security-Policy below where the page has one, and check the address " +
  "that the page leads to where that is another.";

const GONE =
  "The tab was closed, or the page keeps other windows away (Cross-Origin-Opener-Policy): read the panel " +
  "in that tab. Where there is none, the snippet is missing.";
const BLOCKED =
  "Your browser blocked the new tab: allow pop-ups of this address and check again, or open the page by the link above.";

const CLASSES = { true: "passed", false: "alarm", null: "warning" };
const MARKS = { true: "Fine", false: "Missing", null: "Open" };

/** @type {(findings: Finding[]) => void} */
const show = (findings) => {
  const texts = findings.map(({ isFine, text }) => [`${isFine}`, text]);
  // Otherwise screen readers would read it again.
  if (list.dataset.shown === `${texts}`) return;
  list.dataset.shown = `${texts}`;
  list.hidden = false;
  list.replaceChildren(
    ...findings.map(({ isFine, text }) => {
      const item = document.createElement("li");
      const mark = document.createElement("span");
      item.className = `check ${CLASSES[/** @type {keyof typeof CLASSES} */ (`${isFine}`)]}`;
      mark.className = "mark";
      mark.textContent = `${MARKS[/** @type {keyof typeof MARKS} */ (`${isFine}`)]}: `;
      item.append(mark, text);
      return item;
    }),
  );
};

/** Whether the tab has left the blank page that it was opened with. @type {(tab: Window) => boolean} */
const hasLeft = (tab) => {
  try {
    return tab.location.href !== "about:blank";
  } catch {
    return true;
  }
};

/** Ends the check before. */
let end = () => {};

/** @type {(tab: Window, address: string) => void} */
const watch = (tab, address) => {
  const { origin } = new URL(address);
  const check = [...crypto.getRandomValues(new Uint32Array(4))].join("-");
  const since = performance.now();
  let isFound = false;
  /** @type {(event: MessageEvent) => void} */
  const receive = (event) => {
    if (event.source !== tab || event.origin !== origin || !isReport(event.data, check)) return;
    isFound = true;
    const findings = findingsOf(event.data);
    show(findings);
    if (findings.every(({ isFine }) => isFine)) end();
  };
  const timer = setInterval(() => {
    const age = performance.now() - since;
    if ((isFound && tab.closed) || age > LONGEST_MS) end();
    if (isFound) tab.postMessage({ truelift: "check", check }, origin);
    else if (tab.closed) show(failed(GONE));
    else {
      if (hasLeft(tab)) tab.postMessage({ truelift: "check", check }, origin);
      if (age > FOUND_WITHIN_MS) show(failed(notFound(origin)));
    }
  }, EVERY_MS);
  end = () => {
    clearInterval(timer);
    removeEventListener("message", receive);
  };
  addEventListener("message", receive);
};

/** @type {() => Promise<{ address: string | null, problem: string | null }>} */
const ask = async () => {
  const refusal = "The check cannot begin: load this page again.";
  try {
    const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
    const headers = { Accept: "application/json" };
    const answer = await fetch(form.action, { method: "POST", body, headers, redirect: "error" });
    if (answer.ok || answer.status === 422) return await answer.json();
    return {
      address: null,
      problem: answer.status === 403 ? "Your key lacks the scope experiments:read." : refusal,
    };
  } catch {
    return { address: null, problem: refusal };
  }
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  end();
  list.hidden = true;
  list.dataset.shown = "";
  // At once: later, a browser takes it for a pop-up that nobody asked for.
  const tab = window.open("about:blank");
  // The page must not lead this one elsewhere; it answers messages all the same.
  if (tab) tab.opener = null;
  const answer = await ask();
  problem.hidden = !answer.problem;
  problem.textContent = answer.problem;
  opened.hidden = !answer.address;
  if (!answer.address) {
    tab?.close();
    return;
  }
  /** @type {HTMLAnchorElement} */ (opened.firstElementChild).href = answer.address;
  if (!tab) {
    show(failed(BLOCKED));
    return;
  }
  tab.location.href = answer.address;
  show([{ isFine: null, text: "Waiting for the script." }]);
  watch(tab, answer.address);
});
