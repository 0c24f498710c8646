// Experiments of a page: started by their triggers, exposed, shown, and undone when the page is left.

import { makeChanges } from "./changes.js";
import { pagePath, record } from "./events.js";
import { whenActive } from "./lifetime.js";
import { tell } from "./notices.js";
import {
  decidedByServer,
  decideHere,
  hasVariant,
  knownAttributes,
  placeOf,
} from "./page_decisions.js";
import { keepVariant, visitorId } from "./page_visitor.js";
import { parts } from "./parts.js";
import { base, nonce } from "./script.js";
import { readObject, session } from "./storage.js";
import { loadScript } from "./trusted.js";

/** @typedef {import("./page_decisions.js").Current} Current */

/** By experiment id. */
/** @type {Map<string, Current>} */
let current = new Map();
/** Counts decisions. */
let generation = 0;
/** Path of a page that was seen before the script came; empty once the visitor has gone to another. */
let seenPath = "";
/** The address that was decided for last. */
let address = "";
const exposed = new Set();
const loaded = new Set();

/** @type {(one: Current) => void} */
const expose = ({ experiment, variant, index }) => {
  const { id, experiment_id, test_key } = experiment;
  const place = placeOf(experiment);
  const key = `${visitorId()} ${place} ${variant.id}`;
  if (exposed.has(key) || experiment_id) return;
  exposed.add(key);
  record("exposure", { experiment_id: id, variant_id: variant.id, attributes: knownAttributes() });
  whenActive(() => {
    keepVariant(place, variant.id);
    parts.reportExperience?.(id, variant.id);
  });
  tell("exposure", { experiment_id: id, test_key, variant_id: variant.id, index });
};

/** Report, once a tab, that a visitor would have been exposed by a page that was in time. */
/** @type {(one: Current) => void} */
const reportLate = ({ experiment, variant }) => {
  const place = placeOf(experiment);
  const told = readObject(session, "late");
  if (told[place]) return;
  session.set("late", JSON.stringify({ ...told, [place]: 1 }));
  record("exposure", { experiment_id: experiment.id, variant_id: variant.id, late: true });
};

export const markSeen = () => {
  seenPath = pagePath();
};

/** A further page within this one is prepared before it is painted; another query may be the same page. */
const isLate = () => {
  if (pagePath() !== seenPath) seenPath = "";
  return Boolean(seenPath);
};

/**
 * Whether an experiment may begin. On a page that was seen before, it does for those who have a variant: they
 * were exposed by an earlier page, in every arm alike, so that this one decides about nobody's counting. A page
 * that may be in use is not left.
 *
 * @param {Current} one
 */
const mayBegin = (one) => {
  if (!isLate()) return true;
  if (hasVariant(one.experiment)) return one.experiment.type !== "redirect";
  reportLate(one);
  return false;
};

/** @type {(one: Current) => void} */
const show = (one) => {
  const { experiment, variant } = one;
  if (one.undo) return;
  const isChanged = !variant.is_control;
  const css = (isChanged && experiment.custom_css) || "";
  one.undo = makeChanges(
    css,
    variant.changes,
    (error, change) => tell("error", { experiment_id: experiment.id, change, message: `${error}` }),
    parts.changeElements,
  );
  if (isChanged && experiment.custom_js && !loaded.has(experiment.id)) {
    loaded.add(experiment.id);
    loadScript(`${base}/sdk/v1/${CONFIG.sdk_key}/${experiment.custom_js}`, nonce);
  }
};

/** @type {(one: Current) => void} */
const start = (one) => {
  if (one.experiment.type === "redirect") {
    parts.follow?.([one], expose, () => {});
  } else {
    expose(one);
    show(one);
  }
};

/** @type {(one: Current) => void} */
const withdraw = (one) => {
  parts.disarm?.(one.experiment.id);
  one.undo?.();
};

/** Start, now or by a trigger; a failure is that of this experiment alone. */
/** @type {(one: Current, isNavigation?: boolean) => void} */
const begin = (one, isNavigation) => {
  const { experiment } = one;
  try {
    if (experiment.trigger === "direct") start(one);
    else parts.arm?.(experiment, isNavigation, () => start(one));
  } catch (error) {
    tell("error", { experiment_id: experiment.id, message: `${error}` });
  }
};

/** @type {(found: Current[], isNavigation?: boolean, view?: () => void) => void} */
const settle = (found, isNavigation, view) => {
  address = location.href;
  for (const [id, one] of current) {
    const again = found.find(({ experiment }) => experiment.id === id);
    if (again?.variant === one.variant && one.undo) again.undo = one.undo;
    else withdraw(one);
  }
  current = new Map(found.map((one) => [one.experiment.id, one]));
  /** @type {(one: Current) => boolean} */
  const leads = ({ experiment }) =>
    experiment.type === "redirect" && experiment.trigger === "direct";
  /** @type {(isLeaving: boolean) => void} */
  const proceed = (isLeaving) => {
    if (!isLeaving) {
      for (const one of found) if (!leads(one)) begin(one, isNavigation);
    }
    view?.();
  };
  const redirects = found.filter(leads);
  if (redirects.length) parts.follow?.(redirects, expose, proceed);
  else proceed(false);
};

/**
 * Decide anew for the address, and start, keep or undo experiments.
 *
 * @param {boolean} [isNavigation] whether the address has changed within the page
 * @param {() => void} [view] records the page view, after exposures
 */
export const evaluate = (isNavigation, view) => {
  const mine = ++generation;
  const found = decideHere().filter(mayBegin);
  settle(found, isNavigation, view);
  decidedByServer().then((more) => {
    if (mine !== generation) return;
    const further = more.filter(mayBegin);
    if (further.length) settle([...found, ...further], isNavigation);
  });
};

export const currentOnes = () => current;

/** Decide for an address to which the page's code has gone, and from which it calls before its frame. */
export const arrive = () => {
  if (location.href !== address) evaluate(true);
};

/** Decide anew where the visitor turns out to be of another unit, or to be targeted. */
export const reconsider = () => {
  if ((parts.unitId || parts.isEligible || parts.askServer) && generation) evaluate();
};

/** Show the original page. */
export const withdrawAll = () => {
  generation++;
  for (const one of current.values()) withdraw(one);
  current = new Map();
};

/**
 * The variant for code of the page that shows it itself, which starts the experiment.
 *
 * @param {string} testKey
 * @param {boolean} [isPeek] only tells the variant
 * @returns {Omit<import("./config.js").Variant, "changes"> & { index: number, experiment_id: string } | null} null where the visitor takes no part here
 */
export const variantOf = (testKey, isPeek) => {
  const one = [...current.values()].find(({ experiment }) => experiment.test_key === testKey);
  if (!one) return null;
  const { experiment, variant, index } = one;
  if (!isPeek) {
    parts.disarm?.(experiment.id);
    if (experiment.type === "redirect") expose(one);
    else start(one);
  }
  const { changes, ...shown } = variant;
  return { ...shown, index, experiment_id: experiment.experiment_id || experiment.id };
};
