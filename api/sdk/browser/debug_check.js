// Check of an installation: what the dashboard that opened this page is told of it, and of nobody's data.

import { summary } from "./debug_events.js";
import { hindrance } from "./debug_reasons.js";
import { base } from "./script.js";

/** Directives by which the page's policy has kept something of ours away. */
/** @type {Set<string>} */
const blocked = new Set();
/** Origins that may ask: the service itself, and the dashboard that the server confirms. */
const trusted = new Set([new URL(base).origin]);

/** @type {(address: string, directive: string, disposition: string) => void} */
const note = (address, directive, disposition) => {
  const isOurs = address.startsWith(base) || /^(inline|trusted-types-)/.test(address);
  if (isOurs && disposition === "enforce") blocked.add(directive);
};

/** Watch the page's policy, from before this script on where the browser tells. */
export const watchPolicy = () => {
  document.addEventListener("securitypolicyviolation", (event) =>
    note(event.blockedURI, event.effectiveDirective, event.disposition),
  );
  if (!("ReportingObserver" in window)) return;
  const observer = new ReportingObserver(
    (reports) => {
      for (const { body } of /** @type {any[]} */ (reports))
        note(`${body?.blockedURL}`, body?.effectiveDirective, body?.disposition);
    },
    { types: ["csp-violation"], buffered: true },
  );
  observer.observe();
};

export const blockedDirectives = () => [...blocked].sort();

/** Whether the service answers the page; null before it is known. */
/** @type {boolean | null} */
let isReached = null;

/** @type {(isIt: boolean) => void} */
export const noteReached = (isIt) => {
  isReached = isIt;
};

/** @type {(origin: string) => void} */
export const trust = (origin) => trusted.add(origin);

/** Answer the dashboard, and nobody else, as often as it asks. */
export const answerDashboard = () =>
  addEventListener("message", ({ data, origin, source }) => {
    if (!trusted.has(origin) || data?.truelift !== "check" || !source) return;
    const report = {
      truelift: "report",
      check: data.check,
      project_id: CONFIG.project_id,
      sdk_key: CONFIG.sdk_key,
      base,
      blocked: blockedDirectives(),
      hindrance: hindrance(),
      isReached,
      ...summary(),
    };
    /** @type {Window} */ (source).postMessage(report, origin);
  });
