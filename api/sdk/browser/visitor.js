// The visitor: id, user, first variants, and what is known of the visit.

import {
  cookieDomain,
  local,
  readBoth,
  readCookie,
  readObject,
  session,
  writeBoth,
} from "./storage.js";

const MOST_ASSIGNMENTS = 60;
// In characters of JSON: each exposure has them, and may have 32,768 bytes.
const LONGEST_ATTRIBUTES = 8_192;
const HANDED_OVER = /[?&]_tl=([\w-]{8,64})\.([0-9a-z]+)/;
const VALID_SECONDS = 60;

/** A random UUID, also where crypto.randomUUID is not: on pages without HTTPS. */
export const newId = () => {
  const random = crypto.getRandomValues(new Uint8Array(36));
  return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit, at) =>
    (+digit ^ ((random[at] ?? 0) & (15 >> (+digit / 4)))).toString(16),
  );
};

/** @type {() => number} */
const seconds = () => Math.floor(Date.now() / 1000);

/** @type {(host: string) => boolean} */
export const isOwnHost = (host) =>
  CONFIG.hosts.some((own) => (own.startsWith("*.") ? host.endsWith(own.slice(1)) : host === own));

/** @type {(address: string) => string} */
const hostOf = (address) => {
  try {
    return new URL(address).hostname;
  } catch {
    return "";
  }
};

/** @type {string} */
let id = "";
/** @type {string | null} */
let user = null;
/** @type {Record<string, unknown>} */
let dimensions = {};

export const visitorId = () => id;
export const userId = () => user;
export const customDimensions = () => dimensions;

/** Take the id of this browser, or one that another domain of the project handed over, or a new one. */
export const recallVisitor = () => {
  const handed = HANDED_OVER.exec(location.search);
  const isFresh =
    handed &&
    isOwnHost(hostOf(document.referrer)) &&
    Math.abs(seconds() - Number.parseInt(/** @type {string} */ (handed[2]), 36)) < VALID_SECONDS;
  const stored = readBoth("visitor");
  const known = stored && /^[\w-]{8,64}$/.test(stored) ? stored : null;
  id = (isFresh && handed[1]) || known || id || newId();
  user = local.get("user");
  dimensions = readObject(local, "attributes");
  if (!known) session.set("new", "1");
};

/** Remove a handed over id from the address bar. */
export const tidyAddress = () => {
  if (HANDED_OVER.test(location.search)) {
    const query = location.search.replace(HANDED_OVER, "").replace(/^&/, "?");
    history.replaceState(history.state, "", location.pathname + query + location.hash);
  }
};

/** Keep the id, also longer than before; a cookie that the site's server sets lasts longer than one of a script. */
export const keepVisitor = () => {
  if (readCookie("visitor") !== id || !readCookie("by_server")) writeBoth("visitor", id);
};

/** @type {() => "new" | "returning"} */
export const visitorType = () => (session.get("new") ? "new" : "returning");

/**
 * Remember who the visitor is; another user has none of the attributes of the one before. Throws where the
 * attributes are no JSON or too large: those before stay.
 *
 * @param {string | null | undefined} newUser
 * @param {Record<string, unknown> | undefined} attributes
 */
export const setUser = (newUser, attributes) => {
  if (newUser !== undefined) {
    const before = user;
    user = newUser && `${newUser}`;
    if (before && before !== user) dimensions = {};
    if (user) local.set("user", user);
    else local.remove("user");
  }
  const all = { ...dimensions, ...attributes };
  const text = JSON.stringify(all);
  if (text.length > LONGEST_ATTRIBUTES)
    throw new Error(`attributes may have ${LONGEST_ATTRIBUTES} characters`);
  dimensions = all;
  local.set("attributes", text);
};

/** @type {(id: string) => string} */
export const short = (id) => id.slice(-6);

/** @type {() => Map<string, string>} */
const assignments = () =>
  new Map(
    /** @type {[string, string][]} */ (
      (readBoth("assigned") ?? "")
        .split(".")
        .filter(Boolean)
        .map((pair) => pair.split(":"))
    ),
  );

/** @type {(place: string, variants: import("./config.js").Variant[]) => string | undefined} */
export const storedVariant = (place, variants) => {
  const end = assignments().get(place);
  return variants.find((one) => short(one.id) === end)?.id;
};

/**
 * Keep the first variant of the visitor, or of its unit, in six letters.
 *
 * @param {string} place in which it is kept
 * @param {string} variantId
 */
export const keepVariant = (place, variantId) => {
  const stored = assignments();
  if (stored.get(place) === short(variantId)) return;
  stored.set(place, short(variantId));
  const pairs = [...stored].slice(-MOST_ASSIGNMENTS).map((pair) => pair.join(":"));
  writeBoth("assigned", pairs.join("."));
};

/** Erase everything that identifies the visitor. */
export const forgetVisitor = () => {
  for (const name of ["visitor", "assigned", "by_server"]) writeBoth(name, "");
  for (const store of [local, session]) {
    for (const name of store.names()) if (name !== "consent") store.remove(name);
  }
  id = "";
  user = null;
  dimensions = {};
};

/**
 * An address that hands the visitor's id over, where it leads to another domain of the project.
 *
 * @param {string} address absolute
 */
export const handOver = (address) => {
  const host = hostOf(address);
  const domain = cookieDomain();
  const sharesCookies = host === location.hostname || (domain && `.${host}`.endsWith(`.${domain}`));
  // A preview has no visitor.
  if (!id || sharesCookies || !isOwnHost(host)) return address;
  const url = new URL(address);
  url.search += `${url.search ? "&" : "?"}_tl=${id}.${seconds().toString(36)}`;
  return url.href;
};
