// Google Analytics 4 and Tag Manager: experiences that visitors see, and events that are goals.

import { dataLayer, watchEntries } from "./data_layer.js";

/** gtag's commands are arguments objects, not arrays. */
function gtag() {
  // biome-ignore lint/complexity/noArguments: what gtag.js reads.
  dataLayer().push(arguments);
}

/**
 * Report that a visitor sees a variant.
 *
 * @param {string} experimentId
 * @param {string} variantId
 */
export const reportExperience = (experimentId, variantId) => {
  const { ga4, gtm } = CONFIG.integrations;
  const exp_variant_string = `TL-${experimentId}-${variantId}`;
  if (ga4) {
    // @ts-expect-error: its arguments are read as they are.
    gtag("event", "experience_impression", { exp_variant_string, send_to: ga4 });
  }
  if (gtm) dataLayer().push({ event: "experience_impression", exp_variant_string });
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
