// Parts of the script that the server adds where the project's config needs them.

/**
 * What parts offer.
 *
 * @typedef {object} Parts
 * @property {(experiment: import("./config.js").Experiment, visit: Visit) => boolean} isEligible
 * @property {(index: number, text: string) => boolean} matchesAutomaton
 * @property {(visit: Visit) => Promise<ServerDecision[]>} askServer
 * @property {(experimentId: string, variantId: string) => void} reportExperience
 * @property {(onEvent: (name: string, value: number | undefined) => void) => void} watchDataLayer
 */

/** @typedef {{ visitor_id: string, user_id: string | null, url: string, attributes: Record<string, unknown>, assignments?: Record<string, string> }} Visit */

/** @typedef {{ experiment_id: string, test_key: string, variant_id: string | null, covers_page?: boolean, changes: import("./config.js").Change[], redirect_url: string | null }} ServerDecision */

/** @type {Partial<Parts>} */
export const parts = {};

for (const part of GIVEN) part(parts, CONFIG);
