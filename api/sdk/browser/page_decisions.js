// Decisions for a page: the variants of the visitor in the experiments that cover it.

import { placeOfUnit, variantOnPage } from "./assignment.js";
import { pageUrl } from "./events.js";
import { customDimensions, storedVariant, userId, visitorId, visitorType } from "./page_visitor.js";
import { parts } from "./parts.js";
import { referrer } from "./referrer.js";

/** @typedef {import("./config.js").Experiment} Experiment */
/** @typedef {import("./config.js").Variant} Variant */

/**
 * A variant that the visitor has on this page.
 *
 * @typedef {object} Current
 * @property {Experiment} experiment
 * @property {Variant} variant
 * @property {number} index of the variant
 * @property {string | null} target of a redirect
 * @property {() => void} [undo] once it is shown
 */

/** @type {() => Record<string, unknown>} */
export const knownAttributes = () => ({
  visitor_type: visitorType(),
  referrer: referrer(),
  language: navigator.language,
  ...customDimensions(),
});

/** @type {() => import("./parts.js").Visit} */
export const visit = () => ({
  visitor_id: visitorId(),
  user_id: userId(),
  url: pageUrl(),
  attributes: knownAttributes(),
});

/** The id that the visitor is assigned by. */
/** @type {(experiment: Experiment) => string | null | undefined} */
const unitOf = ({ unit }) => (unit ? parts.unitId?.(unit, visit()) : visitorId());

/** Where the variant of an experiment is kept. */
/** @type {(experiment: Experiment) => string} */
export const placeOf = (experiment) => placeOfUnit(experiment, unitOf(experiment));

/** What lets a late page show an experiment, since nobody is counted anew: a variant, or a rollout. */
/** @type {(experiment: Experiment) => string | undefined} */
export const hasVariant = (experiment) =>
  experiment.experiment_id || storedVariant(placeOf(experiment), experiment.variants);

/** Whether an experiment can be shown and counted here: where no redirect can be kept, none is in any arm. */
/** @type {(experiment: Experiment) => boolean | undefined} */
const isPossible = ({ type }) => type !== "redirect" || parts.canRedirect?.();

/**
 * Variants of the visitor in the experiments that cover this page.
 *
 * @returns {Current[]}
 */
export const decideHere = () => {
  const here = visit();
  return CONFIG.experiments.flatMap((experiment) => {
    const stored = storedVariant(placeOf(experiment), experiment.variants);
    const index = variantOnPage(experiment, here, unitOf(experiment), stored, parts);
    const variant = experiment.variants[index ?? -1];
    if (index === null || !variant || !isPossible(experiment)) return [];
    const target = parts.redirectUrl?.(experiment, variant, here.url) ?? null;
    return [{ experiment, variant, index, target }];
  });
};

/** @type {() => Promise<Current[]>} */
export const decidedByServer = async () => {
  const answers = (await parts.askServer?.(visit())) ?? [];
  return answers.flatMap(({ experiment_id, variant_id, covers_page, redirect_url }) => {
    const experiment = CONFIG.experiments.find(({ id }) => id === experiment_id);
    const index = experiment?.variants.findIndex(({ id }) => id === variant_id) ?? -1;
    const variant = experiment?.variants[index];
    if (!experiment || !variant || !covers_page || !isPossible(experiment)) return [];
    return [{ experiment, variant, index, target: redirect_url }];
  });
};
