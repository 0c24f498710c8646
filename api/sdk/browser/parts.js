// Parts of the script that the server adds where the project's config needs them.

import { awaitElements } from "./changes.js";
import { isWithin, onClick } from "./click_listeners.js";
import { call } from "./notices.js";

/**
 * What parts offer.
 *
 * @typedef {object} Parts
 * @property {(experiment: import("./config.js").Experiment, visit: Visit) => boolean} isEligible
 * @property {(index: number, text: string) => boolean} matchesAutomaton
 * @property {(unit: import("./config.js").Unit, visit: Visit) => string | null} unitId
 * @property {(visit: Visit) => Promise<ServerDecision[]>} askServer
 * @property {(experimentId: string, variantId: string) => void} reportExperience
 * @property {(onEvent: (name: string, value: number | undefined) => void) => void} watchDataLayer
 * @property {(experiment: import("./config.js").Experiment, isNavigation: boolean | undefined, start: () => void) => void} arm
 * @property {(experimentId: string) => void} disarm
 * @property {(testKey: string, callback?: (start: () => void) => void) => void} activate
 */

/** @typedef {typeof core} Core */
/** @typedef {Partial<Parts> & Core} Shared */

/** @typedef {{ visitor_id: string, user_id: string | null, url: string, attributes: Record<string, unknown>, assignments?: Record<string, string> }} Visit */

/** @typedef {{ experiment_id: string, test_key: string, variant_id: string | null, covers_page?: boolean, changes: import("./config.js").Change[], redirect_url: string | null }} ServerDecision */

const core = { awaitElements, isWithin, onClick, call };

/** @type {Shared} */
export const parts = core;

for (const part of GIVEN) part(parts, CONFIG);
