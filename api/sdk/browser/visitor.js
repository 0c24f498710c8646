// The visitor of a browser: id, user, first variants, and what is known of the visit.

import { newId, short } from "./ids.js";
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

/** @type {() => number} */
const seconds = () => Math.floor(Date.now() / 1000);

/** @type {(address: string) => string} */
const hostOf = (address) => {
  try {
    return new URL(address).hostname;
  } catch {
    return "";
  }
};

/** @type {(pattern: RegExp) => void} */
export const removeFromAddress = (pattern) => {
  const query = location.search.replace(pattern, "").replace(/^&/, "?");
  const fragment = location.hash.replace(pattern, "");
  history.replaceState(history.state, "", location.pathname + query + fragment);
};

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

/**
 * Attributes with more of them; throws where they are no JSON or too large.
 *
 * @param {Record<string, unknown>} known
 * @param {Record<string, unknown> | undefined} more
 */
export const mergedAttributes = (known, more) => {
  const all = { ...known, ...more };
  if (JSON.stringify(all).length > LONGEST_ATTRIBUTES)
    throw new Error(`attributes may have ${LONGEST_ATTRIBUTES} characters`);
  return all;
};

/**
 * The visitor of this browser in a project.
 *
 * @param {import("./config.js").Config} config
 */
export const createVisitor = ({ hosts, settings: { cookie_domain } }) => {
  let id = "";
  /** @type {string | null} */
  let user = null;
  /** @type {Record<string, unknown>} */
  let dimensions = {};

  /** @type {(host: string) => boolean} */
  const isOwnHost = (host) =>
    hosts.some((own) => (own.startsWith("*.") ? host.endsWith(own.slice(1)) : host === own));

  return {
    visitorId: () => id,
    userId: () => user,
    customDimensions: () => dimensions,

    /** @type {() => "new" | "returning"} */
    visitorType: () => (session.get("new") ? "new" : "returning"),

    /** Take the id of this browser, or one that another domain of the project handed over, or a new one. */
    recallVisitor: () => {
      const handed = HANDED_OVER.exec(location.search);
      const isFresh =
        handed &&
        isOwnHost(hostOf(document.referrer)) &&
        Math.abs(seconds() - Number.parseInt(/** @type {string} */ (handed[2]), 36)) <
          VALID_SECONDS;
      const stored = readBoth("visitor");
      const known = stored && /^[\w-]{8,64}$/.test(stored) ? stored : null;
      id = (isFresh && handed[1]) || known || id || newId();
      user = local.get("user");
      dimensions = readObject(local, "attributes");
      if (!known) session.set("new", "1");
    },

    /** Remove a handed over id from the address bar. */
    tidyAddress: () => {
      if (HANDED_OVER.test(location.search)) removeFromAddress(HANDED_OVER);
    },

    /**
     * Keep the id, also longer than before; a cookie that the site's server sets lasts longer than one of a
     * script.
     */
    keepVisitor: () => {
      if (readCookie("visitor") !== id || !readCookie("by_server"))
        writeBoth("visitor", id, cookie_domain);
    },

    /**
     * Remember who the visitor is; another user has none of the attributes of the one before. Throws where the
     * attributes are no JSON or too large: those before stay.
     *
     * @param {string | null | undefined} newUser
     * @param {Record<string, unknown> | undefined} attributes
     */
    setUser: (newUser, attributes) => {
      if (newUser !== undefined) {
        const before = user;
        user = newUser && `${newUser}`;
        if (before && before !== user) dimensions = {};
        if (user) local.set("user", user);
        else local.remove("user");
      }
      dimensions = mergedAttributes(dimensions, attributes);
      local.set("attributes", JSON.stringify(dimensions));
    },

    /** @type {(place: string, variants: import("./config.js").Variant[]) => string | undefined} */
    storedVariant: (place, variants) => {
      const end = assignments().get(place);
      return variants.find((one) => short(one.id) === end)?.id;
    },

    /**
     * Keep the first variant of the visitor, or of its unit, in six letters.
     *
     * @param {string} place in which it is kept
     * @param {string} variantId
     */
    keepVariant: (place, variantId) => {
      const stored = assignments();
      if (stored.get(place) === short(variantId)) return;
      stored.set(place, short(variantId));
      const pairs = [...stored].slice(-MOST_ASSIGNMENTS).map((pair) => pair.join(":"));
      writeBoth("assigned", pairs.join("."), cookie_domain);
    },

    /** Erase everything that identifies the visitor. */
    forgetVisitor: () => {
      for (const name of ["visitor", "assigned", "by_server"]) writeBoth(name, "", cookie_domain);
      for (const store of [local, session]) {
        // The debug panel is not of the visitor.
        for (const name of store.names()) if (!/^(consent|debug)$/.test(name)) store.remove(name);
      }
      id = "";
      user = null;
      dimensions = {};
    },

    /**
     * An address that hands the visitor's id over, where it leads to another domain of the project.
     *
     * @param {string} address absolute
     */
    handOver: (address) => {
      const host = hostOf(address);
      const domain = cookieDomain(cookie_domain);
      const sharesCookies =
        host === location.hostname || (domain && `.${host}`.endsWith(`.${domain}`));
      // A preview has no visitor.
      if (!id || sharesCookies || !isOwnHost(host)) return address;
      const url = new URL(address);
      url.search += `${url.search ? "&" : "?"}_tl=${id}.${seconds().toString(36)}`;
      return url.href;
    },
  };
};

/** @typedef {ReturnType<typeof createVisitor>} Visitor */
