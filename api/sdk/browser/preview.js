// Preview: variants that the address asks for, shown on the experiment's pages of this tab and not counted.

import { makeChanges } from "./changes.js";
import { changedElements, changeElements } from "./element_changes.js";
import { askedVariants, forcedVariants, PARAMETER } from "./forced_variants.js";
import { newId } from "./ids.js";
import { coversPage } from "./pages.js";
import { showBanner } from "./preview_banner.js";
import { leave, mayRedirect } from "./redirect_guard.js";
import { redirectUrl } from "./redirects.js";
import { base, nonce } from "./script.js";
import { askServer } from "./server_decisions.js";
import { session } from "./storage.js";

/** @typedef {{ id: string, name: string, css: string, script: string | null, changes: import("./config.js").Change[], target: string | null }} Shown */

const asked = askedVariants();
const forced = forcedVariants();

const exit = () => {
  session.remove("preview");
  const url = new URL(location.href);
  url.searchParams.delete(PARAMETER);
  location.replace(url.href);
};

/** @type {() => Shown[]} */
const liveExperiments = () =>
  CONFIG.experiments.flatMap((experiment) => {
    const { id, test_key, custom_css, custom_js, variants } = experiment;
    const variant = variants.find((one) => one.id === forced[id]);
    const isHere = id in asked || coversPage(experiment, location.href, () => true);
    if (!variant || !isHere) return [];
    const isChanged = !variant.is_control;
    return [
      {
        id,
        name: `${test_key}, variant ${variants.indexOf(variant)}`,
        css: (isChanged && custom_css) || "",
        script: isChanged ? custom_js : null,
        changes: variant.changes,
        target: redirectUrl(experiment, variant, location.href),
      },
    ];
  });

/** @type {() => Promise<Shown[]>} */
const drafts = async () => {
  const isLive = (/** @type {string} */ id) => CONFIG.experiments.some((one) => one.id === id);
  if (Object.keys(forced).every(isLive)) return [];
  const answers = await askServer({
    visitor_id: newId(),
    user_id: null,
    url: location.href,
    attributes: {},
    assignments: forced,
  });
  return answers
    .filter(
      ({ experiment_id, variant_id }) =>
        variant_id && !isLive(experiment_id) && forced[experiment_id],
    )
    .map(({ experiment_id, test_key, changes, redirect_url }) => ({
      id: experiment_id,
      name: `${test_key} (draft)`,
      css: "",
      script: null,
      changes,
      target: redirect_url,
    }));
};

// What makes HTML is for this script alone.
delete (/** @type {any} */ (window).truelift.preview);

// For the debug panel: the changes are made here.
PARTS.changedElements = changedElements;

const show = async () => {
  const shown = [...liveExperiments(), ...(await drafts())];
  const away = shown.find(({ id, target }) => target && mayRedirect(id, target));
  if (away?.target) {
    leave(away.id, away.target);
    return;
  }
  for (const { css, changes, script, target } of shown) {
    if (target === null) makeChanges(css, changes, (error) => console.warn(error), changeElements);
    if (script) PARTS.loadScript(`${base}/sdk/v1/${CONFIG.sdk_key}/${script}`, nonce);
  }
  showBanner(
    `Preview, not counted: ${shown.map(({ name }) => name).join("; ") || "not on this page"}`,
    exit,
  );
};

show();
