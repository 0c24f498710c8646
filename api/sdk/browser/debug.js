// Debug panel: what happens on this page and why, for the person who asks in the address.

import {
  answerDashboard,
  blockedDirectives,
  noteReached,
  trust,
  watchPolicy,
} from "./debug_check.js";
import { events, listenForAnswers } from "./debug_events.js";
import { openPanel } from "./debug_panel.js";
import { pageLines, targetingLines, whyHere, whyNothing } from "./debug_reasons.js";
import { base, post } from "./script.js";
import { readObject } from "./storage.js";

/** @typedef {import("./debug_reasons.js").Named} Named */
/** @typedef {import("./config.js").Experiment} Experiment */
/** @typedef {import("./config.js").Change} Change */

const REFRESH_MS = 500;
const { session } = PARTS;
const token = session.get("debug")?.split("=").slice(1).join("=") ?? "";

// What it was given of the script is for this panel alone.
delete (/** @type {any} */ (window).truelift.debug);

/** Experiments by the server; none without a token that holds. */
/** @type {Named[]} */
let named = [];
let access = token
  ? "Asks the service for names and rules."
  : "Names, rules and verdicts are shown where this page is opened from its project's installation in the dashboard.";
let isAllowed = false;

/** By experiment id, what has gone wrong. */
/** @type {Map<string, { change?: Change, message: string }[]>} */
const errors = new Map();
let asked = "";

const ask = async () => {
  const page = location.href;
  asked = page;
  try {
    const visit = { ...VISIT(), visitor_id: VISIT().visitor_id || null };
    const answer = await post("debug", JSON.stringify({ token, visit }));
    const content = await answer.json();
    noteReached(true);
    if (page !== asked) return;
    isAllowed = answer.ok;
    named = answer.ok ? content.experiments : [];
    access = answer.ok
      ? `Project: ${content.project}.`
      : `Names, rules and verdicts are not shown: ${content.error.message}.`;
    if (answer.ok) trust(content.dashboard);
  } catch {
    noteReached(false);
    access = `The service does not answer this page at ${base}.`;
  }
};

/** @type {() => Record<string, string>} */
const chosen = () => readObject(session, "preview");

/** @type {(id: string) => string | undefined} the variant on this page */
const shownVariant = (id) => chosen()[id] ?? CURRENT().get(id)?.variant.id;

/** @type {(experiment: Experiment | undefined, variant: string | undefined) => string[]} */
const changesOf = (experiment, variant) => {
  const mine = experiment?.variants.find(({ id }) => id === variant)?.changes ?? [];
  const failed = errors.get(experiment?.id ?? "") ?? [];
  return mine.map((change) => {
    const { action, selector } = change;
    const error = failed.find((one) => one.change === change);
    const isStyle = /^(remove|modify_style)$/.test(action);
    let count = 0;
    try {
      count = isStyle
        ? document.querySelectorAll(selector).length
        : (PARTS.changedElements?.(change) ?? 0);
    } catch {
      // No selector: the error tells.
    }
    const state = error ? `given up: ${error.message}` : `applied to ${count}`;
    return `${action.replace("_", " ")} ${selector}: ${error || count ? state : "no element matches"}`;
  });
};

/** @type {(one: Named) => import("./debug_panel.js").Section} */
const sectionOf = (one) => {
  const { id, name, test_key, status, variants } = one;
  const experiment = CONFIG.experiments.find((own) => own.id === id);
  const variant = shownVariant(id);
  const label = variants.find((each) => each.id === variant)?.name;
  const sentence = experiment ? whyHere(experiment, one) : `Out: ${one.reason}.`;
  const messages = (errors.get(id) ?? []).filter(({ change }) => !change);
  return {
    id,
    title: `${name}: ${label ?? "out"}`,
    sentence: [
      `${test_key}, ${status}.`,
      whyNothing() ?? sentence,
      ...messages.map(({ message }) => `Error: ${message}.`),
    ].join(" "),
    rules: [...pageLines(one, experiment), ...targetingLines(one.targeting, experiment?.targeting)],
    changes: changesOf(experiment, variant),
    choices: /^(completed|archived)$/.test(status)
      ? []
      : variants.map((each) => ({ id: each.id, name: each.name, isShown: each.id === variant })),
  };
};

/** What everybody can read: the visitor's own variants. */
/** @type {() => import("./debug_panel.js").Section[]} */
const ownSections = () =>
  CONFIG.experiments.flatMap(({ id, test_key, variants }) => {
    const index = variants.findIndex((one) => one.id === shownVariant(id));
    const title = `${test_key}: variant ${index}`;
    return index < 0 ? [] : [{ id, title, sentence: "", rules: [], changes: [], choices: [] }];
  });

const notes = () => {
  const blocked = blockedDirectives();
  return [
    access,
    whyNothing() ?? "",
    blocked.length
      ? `The page's Content-Security-Policy blocks something of Truelift's: ${blocked.join(", ")}.`
      : "",
  ].filter(Boolean);
};

const refresh = () => {
  if (token && location.href !== asked) ask();
  panel.show({
    notes: notes(),
    sections: isAllowed ? named.map(sectionOf) : ownSections(),
    events: isAllowed ? events() : null,
    isChosen: Object.keys(chosen()).length > 0,
  });
};

const reload = () => {
  const url = new URL(location.href);
  url.searchParams.delete("truelift_preview");
  if (url.href === location.href) location.reload();
  else location.replace(url.href);
};

const reset = () => {
  session.remove("preview");
  reload();
};

const close = () => {
  clearInterval(timer);
  panel.close();
  session.remove("debug");
  if (Object.keys(chosen()).length) reset();
};

/** @type {(experiment: string, variant: string) => void} */
const choose = (experiment, variant) => {
  const own = [...CURRENT()].map(([id, one]) => [id, one.variant.id]);
  const all = { ...Object.fromEntries(own), ...chosen(), [experiment]: variant };
  session.set("preview", JSON.stringify(all));
  reload();
};

const panel = openPanel({ choose, reset, close });
watchPolicy();
listenForAnswers();
answerDashboard();
/** @type {any} */ (window).truelift.on("error", (/** @type {any} */ error) => {
  const id = error.experiment_id ?? "";
  errors.set(id, [...(errors.get(id) ?? []), error]);
});
const timer = setInterval(refresh, REFRESH_MS);
refresh();
