// Types of the project's config, as the server writes it.

/**
 * @typedef {object} Change
 * @property {string} selector
 * @property {string} action
 * @property {string} value
 */

/**
 * @typedef {object} Variant
 * @property {string} id
 * @property {boolean} is_control
 * @property {Change[]} changes
 * @property {string} [name] where the experiment's variants are public
 * @property {any} [payload] the same; null for none
 */

/** @typedef {{ match_type: string, value: string } | { match_type: "regex", automaton: number }} PageRule */

/** @typedef {"user" | { attribute: string }} Unit */

/**
 * @typedef {object} Experiment
 * @property {string} id
 * @property {string} test_key
 * @property {"visual" | "redirect" | "personalization"} type
 * @property {"running" | "paused" | "rollout"} status
 * @property {string} [experiment_id] of a rollout, which counts nobody
 * @property {Unit | null} [unit] that is assigned, null for the visitor
 * @property {string} salt
 * @property {number} bucketing_version
 * @property {number} traffic first hash outside the traffic that takes part, at most 2^32
 * @property {number[]} thresholds first hash beyond each variant's share, at most 2^32
 * @property {{ salt: string, bucketing_version: number, ranges: [number, number][] }} [group] hashes of the slots that it has of its exclusion group
 * @property {[number, number][]} [unsettled] hashes whose variant depends on when the unit came first
 * @property {boolean} decided_by_server
 * @property {{ include: PageRule[], exclude: PageRule[] } | null} pages
 * @property {import("./targeting.js").Group | null} targeting
 * @property {"direct" | "manual" | "element_visible" | "click" | "url_change" | "callback"} trigger
 * @property {string | null} trigger_selector
 * @property {boolean} relay_params
 * @property {string} page_url
 * @property {string | null} custom_css
 * @property {string | null} custom_js address, relative to that of the project's files
 * @property {Variant[]} variants
 */

/** @typedef {Pick<Experiment, "id" | "salt" | "bucketing_version" | "thresholds"> & { variants: { id: string, is_control: boolean }[] }} Holdout its first variant is held out */

/**
 * @typedef {object} Settings
 * @property {string | null} cookie_domain
 * @property {boolean} respect_dnt
 * @property {boolean} respect_gpc
 * @property {boolean} require_consent
 * @property {"google_consent_mode" | "tcf" | null} consent_source that answers in place of the page
 * @property {boolean} bot_filtering
 * @property {number} anti_flicker_timeout_ms
 * @property {string} revenue_currency
 */

/**
 * @typedef {object} Config
 * @property {number} schema
 * @property {string} project_id
 * @property {string} sdk_key
 * @property {string[]} hosts
 * @property {string} time_zone
 * @property {Settings} settings
 * @property {{ ga4: string | null, gtm: boolean }} integrations
 * @property {Record<string, unknown> & { is_bot?: boolean } | null} facts
 * @property {string[]} clicks selectors of click goals
 * @property {{ event_name: string, value_param: string | null }[]} ga4_events
 * @property {import("./automaton.js").Automaton[]} automata
 * @property {Experiment[]} experiments
 * @property {Experiment[]} rollouts shipped variants, which everybody eligible gets
 * @property {Holdout} [holdout] in force
 */

export {};
