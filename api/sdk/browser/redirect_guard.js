// Redirects: once for an experiment, from a page that nobody has seen yet, with the referrer kept.

/** @typedef {import("./page_decisions.js").Current} Current */

const AGAIN_AFTER_MS = 10_000;
// A target that never answers leaves the page that is there.
const HIDDEN_MS = 5_000;
const NAME = "truelift_redirects";
const TAB = `${NAME}:`;

/**
 * Where redirects are kept beyond the page: the tab's storage, or its name where that is free; null where
 * neither stays, since a circle of redirects would have no end then.
 *
 * @type {[read: () => string, write: (text: string) => void] | null}
 */
const memory = (() => {
  try {
    sessionStorage.setItem(`${NAME}_probe`, "");
    sessionStorage.removeItem(`${NAME}_probe`);
    return [() => sessionStorage.getItem(NAME) ?? "", (text) => sessionStorage.setItem(NAME, text)];
  } catch {
    if (window.name && !window.name.startsWith(TAB)) return null;
    return [
      () => window.name.slice(TAB.length),
      (text) => {
        window.name = text && TAB + text;
      },
    ];
  }
})();

/** @type {() => Record<string, number>} */
const recent = () => {
  try {
    return Object(JSON.parse(memory?.[0]() || "{}"));
  } catch {
    return {};
  }
};

/** @type {(address: string) => string} */
const comparable = (address) => address.split("#")[0]?.replace(/\/$/, "") ?? "";

/** Whether experiments that redirect can be made and counted here, in any arm. */
export const canRedirect = () => Boolean(memory);

/** A click may lead to the same redirect again. */
export const allowRedirects = () => memory?.[1]("");

/**
 * Whether a redirect leads anywhere else, and was not made just now.
 *
 * @param {string} experimentId
 * @param {string} target
 */
export const mayRedirect = (experimentId, target) =>
  comparable(target) !== comparable(location.href) &&
  !(Date.now() - (recent()[experimentId] ?? 0) < AGAIN_AFTER_MS);

/** Hide the page that is about to be left; one that is not left, or comes back, is shown. */
const hide = () => {
  const show = PARTS.addStyles("html{visibility:hidden!important}", [], () => {});
  PARTS.whenActive(() => setTimeout(show, HIDDEN_MS));
  addEventListener("pageshow", (event) => event.persisted && show());
};

/**
 * Leave for the target.
 *
 * @param {string} experimentId
 * @param {string} target
 */
export const leave = (experimentId, target) => {
  memory?.[1](JSON.stringify({ ...recent(), [experimentId]: Date.now() }));
  PARTS.session.set("referrer", JSON.stringify([target.split("#")[0], PARTS.referrer()]));
  location.replace(PARTS.handOver(target));
};

/**
 * Count redirects, and follow the first that leads on.
 *
 * @param {Current[]} redirects
 * @param {(one: Current) => void} expose
 * @param {(isLeaving: boolean) => void} between is called once it is known, before anything is sent
 */
export const follow = (redirects, expose, between) => {
  redirects.forEach(expose);
  const away = redirects.find(
    ({ experiment, target }) => target && mayRedirect(experiment.id, target),
  );
  if (away) hide();
  between(Boolean(away));
  PARTS.whenActive(() => {
    // In every arm alike, before the page may end.
    PARTS.sendByBeacon();
    if (away) leave(away.experiment.id, /** @type {string} */ (away.target));
  });
};
