// Google Analytics 4 and Tag Manager: experiences that visitors see, and events that are goals.

import { followConsentMode } from "./consent_mode.js";
import { dataLayer, watchEntries } from "./data_layer.js";

/** gtag's commands are arguments objects, not arrays. */
function gtag() {
  // biome-ignore lint/complexity/noArguments: what gtag.js reads.
  dataLayer().push(arguments);
}

/** Impressions that wait for the visitor's consent to analytics. */
/** @type {string[]} */
let held = [];

/** Consent mode of the page, followed from the first impression on. */
/** @type {ReturnType<typeof followConsentMode> | undefined} */
let mode;

/** Google Analytics' own opt-out: of one measurement id, or of any. */
/** @type {(id: string) => boolean} */
const isOptedOut = (id) =>
  Object.keys(window).some(
    (name) => name.startsWith(`ga-disable-${id}`) && /** @type {any} */ (window)[name] === true,
  );

/** @type {(exp_variant_string: string) => void} */
const push = (exp_variant_string) => {
  const { ga4, gtm } = CONFIG.integrations;
  if (ga4 && !isOptedOut(ga4)) {
    // @ts-expect-error: its arguments are read as they are.
    gtag("event", "experience_impression", { exp_variant_string, send_to: ga4 });
  }
  // The ids of its tags are not known here.
  if (gtm && !isOptedOut(""))
    dataLayer().push({ event: "experience_impression", exp_variant_string });
};

const release = () => {
  if ((mode?.answer() ?? "granted") !== "granted") return;
  const told = held;
  held = [];
  told.forEach(push);
};

/**
 * Report that a visitor sees a variant; where consent mode denies analytics, once it grants them.
 *
 * @param {string} experimentId
 * @param {string} variantId
 */
export const reportExperience = (experimentId, variantId) => {
  const { ga4, gtm } = CONFIG.integrations;
  if (!ga4 && !gtm) return;
  held.push(`TL-${experimentId}-${variantId}`);
  // After the task: the impression is no part of the page's own push.
  mode ??= followConsentMode(() => queueMicrotask(release));
  release();
};

/** Forget what was not reported, of a visitor who no longer agrees to be counted. */
export const forgetExperiences = () => {
  held = [];
};

/** After a redirect of ours, name the page from which the visitor came: before the page's own commands. */
export const reportReferrer = () => {
  const page_referrer = PARTS.referrer();
  if (page_referrer === document.referrer) return;
  const { ga4, gtm } = CONFIG.integrations;
  // @ts-expect-error: its arguments are read as they are.
  if (ga4) gtag("set", { page_referrer });
  if (gtm) dataLayer().push({ page_referrer });
};

/**
 * Watch the data layer for events that are goals, those that are there included.
 *
 * @param {(name: string, value: number | undefined) => void} onEvent
 */
export const watchDataLayer = (onEvent) => {
  const { ga4_events } = CONFIG;
  if (!ga4_events.length) return;
  /** @type {(entry: any) => void} */
  const read = (entry) => {
    const isCommand = entry?.[0] === "event";
    const name = isCommand ? entry[1] : entry?.event;
    const parameters = (isCommand ? entry[2] : entry) ?? {};
    for (const { event_name, value_param } of ga4_events) {
      if (event_name !== name) continue;
      const value = Number(
        parameters[value_param ?? ""] ?? parameters.ecommerce?.[value_param ?? ""],
      );
      onEvent(name, Number.isFinite(value) ? value : undefined);
      break;
    }
  };
  watchEntries(read);
};
