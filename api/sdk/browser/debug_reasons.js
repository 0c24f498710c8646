// Reasons: why a visitor is in an experiment or not, by the rules that decide it.

import { assignVariant, placeOfUnit } from "./assignment.js";
import { attributesOf, textOf } from "./attributes.js";
import { cookies } from "./cookies.js";
import { isOutsideSlots } from "./exclusion_slots.js";
import { coversPage } from "./pages.js";
import { holds } from "./targeting.js";
import { createVisitor } from "./visitor.js";

/** @typedef {import("./config.js").Experiment} Experiment */

/** @typedef {{ type: "include" | "exclude", match_type: string, value: string, holds: boolean }} NamedPage */
/** @typedef {{ field: string, key?: string, operator: string, values?: string[], holds: boolean, reason: string }} NamedCondition */
/** @typedef {{ operator: "and" | "or" | "not", children: (NamedGroup | NamedCondition)[] }} NamedGroup */

/**
 * An experiment as the server explains it to the holder of a token.
 *
 * @typedef {object} Named
 * @property {string} id
 * @property {string} test_key
 * @property {string} name
 * @property {string} status
 * @property {number} traffic_allocation
 * @property {{ id: string, name: string, is_control: boolean }[]} variants
 * @property {NamedPage[]} pages
 * @property {NamedGroup} targeting
 * @property {string} reason
 */

/** @typedef {{ text: string, holds: boolean, parts?: Line[] }} Line */

const { storedVariant } = createVisitor(CONFIG);

const GROUPS = { and: "all of these", or: "one of these", not: "none of these" };

/** @type {(index: number, text: string) => boolean} */
const matches = (index, text) => Boolean(PARTS.matchesAutomaton?.(index, text));

/** @type {(named: Named, experiment: Experiment | undefined) => Line[]} */
export const pageLines = ({ pages }, experiment) => {
  const url = VISIT().url;
  /** @type {Record<string, number>} */
  const next = { include: 0, exclude: 0 };
  return pages.map(({ type, match_type, value, holds }) => {
    const rule = experiment?.pages?.[type][/** @type {number} */ (next[type])];
    next[type] = (next[type] ?? 0) + 1;
    const isMet = rule
      ? coversPage({ pages: { include: [rule], exclude: [] } }, url, matches)
      : holds;
    return {
      text: `${type === "include" ? "on" : "not on"} pages: ${match_type.replace("_", " ")} ${value}`,
      holds: isMet === (type === "include"),
    };
  });
};

/**
 * The lines of targeting rules: evaluated here where the browser decides, else as the server has.
 *
 * @param {NamedGroup} named
 * @param {import("./targeting.js").Group | null | undefined} own the same rules, normalized
 * @returns {Line[]}
 */
export const targetingLines = (named, own) => {
  const attributeOf = attributesOf(CONFIG, VISIT(), cookies(), new Date());
  /** @type {(node: NamedGroup | NamedCondition, mine: import("./targeting.js").Group | import("./targeting.js").Condition | undefined) => Line} */
  const line = (node, mine) => {
    if ("children" in node) {
      const inner = mine && "children" in mine ? mine.children : [];
      const parts = node.children.map((child, index) => line(child, inner[index]));
      const isOne = parts.some((part) => part.holds);
      const isMet = node.operator === "and" ? parts.every((part) => part.holds) : isOne;
      return {
        text: GROUPS[node.operator],
        holds: node.operator === "not" ? !isOne : isMet,
        parts,
      };
    }
    const { field, key, operator, values = [] } = node;
    const text = `${field}${key ? ` “${key}”` : ""} ${operator.replace(/_/g, " ")} ${values.join(", ")}`;
    if (!mine)
      return { text: `${text}${node.holds ? "" : ` (${node.reason})`}`, holds: node.holds };
    const seen = textOf(attributeOf(field, key));
    const here = seen === null ? "not known" : `“${seen}”`;
    return { text: `${text} (here: ${here})`, holds: holds(mine, attributeOf, matches) };
  };
  const root = line(named, own ?? undefined);
  return named.operator === "and" ? (root.parts ?? []) : [root];
};

/** Why nothing is decided on a page at all. */
const NOTHING = {
  chosen: "Variants are chosen in this tab, and nothing is counted.",
  dnt: "This browser sends DNT, which the project respects: the original is shown.",
  gpc: "This browser sends GPC, which the project respects: the original is shown.",
  bot: "This browser is automated, so that it counts as a bot: the original is shown.",
  pending: "The visitor has not answered the question of consent yet: the original is shown.",
  denied: "The visitor has refused consent: the original is shown.",
};

/** @type {() => keyof typeof NOTHING | null} null where the visitor's consent is granted */
export const hindrance = () => {
  const { settings, facts } = CONFIG;
  const consent = CONSENT();
  if (consent === "granted") return null;
  if (PARTS.session.get("preview")) return "chosen";
  if (settings.respect_dnt && navigator.doNotTrack === "1") return "dnt";
  if (settings.respect_gpc && navigator.globalPrivacyControl) return "gpc";
  if (settings.bot_filtering && (navigator.webdriver || facts?.is_bot)) return "bot";
  return consent;
};

export const whyNothing = () => {
  const reason = hindrance();
  return reason && NOTHING[reason];
};

const TRIGGERS = {
  manual: "truelift.activate",
  callback: "the callback of truelift.activate",
  element_visible: "an element to be seen",
  click: "a click",
  url_change: "a change of the address",
  direct: "",
};

/** @type {(experiment: Experiment, reason: string) => string} */
const whyShown = ({ id, trigger, trigger_selector, type }, reason) => {
  const one = CURRENT().get(id);
  if (!one)
    return "Out: the script was late, the page had been shown before. Its tag belongs at the start of the head.";
  if (trigger === "direct" && type !== "redirect" && !one.undo)
    return "In, and could not be shown.";
  const selector = trigger_selector ? ` (${trigger_selector})` : "";
  if (type !== "redirect" && !one.undo)
    return `In, and waits for its trigger: ${TRIGGERS[trigger]}${selector}.`;
  return `In: ${reason}.`;
};

/** @type {(experiment: Experiment) => string | null | undefined} the id that the visitor is assigned by */
const unitOf = ({ unit }) => (unit ? PARTS.unitId?.(unit, VISIT()) : VISIT().visitor_id);

/** @type {(experiment: Experiment, named: Named) => string | null} why a new visitor would be out; null for in */
const whyNotNew = (experiment, { traffic_allocation }) => {
  if (experiment.targeting && !PARTS.isEligible?.(experiment, VISIT()))
    return "the targeting rules do not let this visitor in";
  if (experiment.status !== "running") return "the experiment is paused, and takes no new visitors";
  if (isOutsideSlots(experiment, `${unitOf(experiment)}`))
    return "by hash outside the slots that the experiment has of its group";
  if (assignVariant(experiment, `${unitOf(experiment)}`, undefined) === null)
    return `by hash outside the ${traffic_allocation}% of visitors that take part`;
  return null;
};

/**
 * Why the visitor is in an experiment of the config or not, in one sentence.
 *
 * @param {Experiment} experiment
 * @param {Named} named
 */
export const whyHere = (experiment, named) => {
  if (experiment.decided_by_server) {
    return CURRENT().has(experiment.id)
      ? whyShown(experiment, "assigned by the server")
      : `Out, as the server decides: ${named.reason}.`;
  }
  const unit = unitOf(experiment);
  if (unit == null)
    return "Out: the page has not said who the visitor's user or account is (truelift.identify).";
  if (!coversPage(experiment, VISIT().url, matches))
    return "Out: the experiment is not on this page.";
  const refusal = whyNotNew(experiment, named);
  const stored = storedVariant(placeOfUnit(experiment, unit), experiment.variants);
  if (refusal && !stored) return `Out: ${refusal}.`;
  if (!stored && PARTS.isExcluded?.(experiment, unit))
    return "Out: weights have changed since the start, and the server has not told the first variant.";
  if (experiment.type === "redirect" && !PARTS.canRedirect?.())
    return "Out: this browser stores nothing, so that no redirect can be made and counted.";
  const index = experiment.variants.findIndex(({ id }) => id === stored);
  if (refusal) return whyShown(experiment, `keeps its variant from before; now, ${refusal}`);
  return index < 0 || index === assignVariant(experiment, unit, undefined)
    ? whyShown(experiment, "assigned by hash, and keeps this variant")
    : whyShown(experiment, "keeps its variant from before; a new visitor would have another");
};
