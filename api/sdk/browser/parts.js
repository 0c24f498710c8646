// Parts of the script that the server adds where the project's config needs them.

import { isWithin, onClick } from "./click_listeners.js";
import { whenActive } from "./lifetime.js";
import { call } from "./notices.js";
import { sendByBeacon } from "./page_outbox.js";
import { handOver } from "./page_visitor.js";
import { referrer } from "./referrer.js";
import { base, nonce } from "./script.js";
import { session } from "./storage.js";
import { addStyles } from "./stylesheet.js";
import { loadScript, nodesOf } from "./trusted.js";

/**
 * What parts offer.
 *
 * @typedef {object} Parts
 * @property {(experiment: import("./config.js").Experiment, visit: Visit) => boolean} isEligible
 * @property {(index: number, text: string) => boolean} matchesAutomaton
 * @property {(unit: import("./config.js").Unit, visit: Visit) => string | null} unitId
 * @property {(experiment: import("./config.js").Experiment, unit: string) => boolean} isExcluded whether a new unit has no variant here: its slot is another's, or the server alone knows
 * @property {(visit: Visit) => Promise<ServerDecision[]>} askServer answers on experiments that only the server decides
 * @property {(tell: (answer: import("./consent.js").Consent) => void) => void} watchConsent
 * @property {(experimentId: string, variantId: string) => void} reportExperience
 * @property {() => void} forgetExperiences
 * @property {() => void} reportReferrer
 * @property {(onEvent: (name: string, value: number | undefined) => void) => void} watchDataLayer
 * @property {(experiment: import("./config.js").Experiment, isNavigation: boolean | undefined, start: () => void) => void} arm
 * @property {(experimentId: string) => void} disarm
 * @property {(testKey: string, callback?: (start: () => void) => void) => void} activate
 * @property {import("./changes.js").ChangeElements} changeElements
 * @property {(selector: string, found: (element: Element) => void) => () => void} awaitElements
 * @property {(change: import("./config.js").Change) => number} changedElements
 * @property {() => boolean} canRedirect
 * @property {(experiment: import("./config.js").Experiment, variant: import("./config.js").Variant, url: string) => string | null} redirectUrl
 * @property {(redirects: import("./page_decisions.js").Current[], expose: (one: import("./page_decisions.js").Current) => void, between: (isLeaving: boolean) => void) => void} follow
 */

/** @typedef {typeof core} Core */
/** @typedef {Partial<Parts> & Core} Shared */

/** @typedef {{ visitor_id: string, user_id: string | null, url: string, attributes: Record<string, unknown>, assignments?: Record<string, string> }} Visit */

/** @typedef {{ experiment_id: string, test_key: string, variant_id: string | null, covers_page?: boolean, changes: import("./config.js").Change[], redirect_url: string | null }} ServerDecision */

const core = {
  addStyles,
  call,
  handOver,
  isWithin,
  loadScript,
  nodesOf,
  onClick,
  referrer,
  sendByBeacon,
  session,
  whenActive,
};

/** @type {Shared} */
export const parts = core;

for (const part of GIVEN) part(parts, CONFIG);

/**
 * Load a tool, with what it needs of the script.
 *
 * @param {string} name
 * @param {...unknown} given
 */
export const loadTool = (name, ...given) => {
  Object.assign(/** @type {any} */ (window).truelift, { [name]: [parts, CONFIG, ...given] });
  loadScript(`${base}/sdk/v1/${CONFIG.sdk_key}/${name}.js`, nonce);
};
