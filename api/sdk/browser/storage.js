// Storage that never throws: what the browser refuses is kept in memory until the page ends.

/** @typedef {{ get(name: string): string | null, set(name: string, value: string): void, remove(name: string): void, names(): string[] }} Store */

import { cookies } from "./cookies.js";

const PREFIX = "truelift_";
const COOKIE_SECONDS = 34_560_000;

/** @type {(open: () => Storage) => Store} */
export const createStore = (open) => {
  /** @type {Map<string, string>} */
  const memory = new Map();
  /** @type {<T>(use: (storage: Storage) => T, otherwise: T) => T} */
  const attempt = (use, otherwise) => {
    try {
      return use(open());
    } catch {
      return otherwise;
    }
  };
  return {
    get: (name) => memory.get(name) ?? attempt((storage) => storage.getItem(PREFIX + name), null),
    set: (name, value) => {
      const isKept = attempt((storage) => {
        storage.setItem(PREFIX + name, value);
        return true;
      }, false);
      if (isKept) memory.delete(name);
      else memory.set(name, value);
    },
    remove: (name) => {
      memory.delete(name);
      attempt((storage) => storage.removeItem(PREFIX + name), undefined);
    },
    names: () => [
      ...memory.keys(),
      ...attempt((storage) => Object.keys(storage), [])
        .filter((name) => name.startsWith(PREFIX))
        .map((name) => name.slice(PREFIX.length)),
    ],
  };
};

export const local = createStore(() => localStorage);
export const session = createStore(() => sessionStorage);

/**
 * Read an object from JSON; an empty one where there is none, or something else.
 *
 * @param {Store} store
 * @param {string} name
 * @returns {Record<string, any>}
 */
export const readObject = (store, name) => {
  try {
    return Object(JSON.parse(store.get(name) ?? "{}"));
  } catch {
    return {};
  }
};

/** @type {(name: string) => string | null} */
export const readCookie = (name) =>
  new RegExp(`(?:^|; )${PREFIX}${name}=([^;]*)`).exec(cookies())?.[1] ?? null;

/** @type {(name: string, value: string, domain: string, seconds: number) => void} */
const setCookie = (name, value, domain, seconds) => {
  const attributes = `${domain && `;domain=${domain}`};path=/;max-age=${seconds};samesite=lax`;
  try {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is asynchronous, and not everywhere.
    document.cookie = `${PREFIX}${name}=${value}${attributes}${location.protocol === "https:" ? ";secure" : ""}`;
  } catch {
    // As in `cookies`.
  }
};

/** @type {Map<string | null, string>} */
const found = new Map();

/**
 * The widest domain on which a cookie stays: the project's setting, else found by trying; "" for the host only.
 *
 * @param {string | null} setting
 * @returns {string}
 */
export const cookieDomain = (setting) => {
  const known = found.get(setting);
  if (known !== undefined) return known;
  const labels = location.hostname.split(".");
  const candidates = labels.map((_, index) => labels.slice(-index - 1).join("."));
  if (setting) candidates.unshift(setting.replace(/^\*?\./, ""));
  const domain =
    candidates.find((domain) => {
      setCookie("probe", "1", domain, 9);
      const stays = readCookie("probe");
      setCookie("probe", "", domain, 0);
      return stays;
    }) ?? "";
  found.set(setting, domain);
  return domain;
};

/**
 * Read a value that is kept in a cookie and in localStorage.
 *
 * @param {string} name
 */
export const readBoth = (name) => readCookie(name) || local.get(name);

/**
 * Write a value to a cookie and to localStorage, and expire a cookie of the host alone that would hide it.
 *
 * @param {string} name
 * @param {string} value an empty one erases both
 * @param {string | null} setting the project's `cookie_domain`
 */
export const writeBoth = (name, value, setting) => {
  const domain = cookieDomain(setting);
  if (domain || !value) setCookie(name, "", "", 0);
  setCookie(name, value, domain, value ? COOKIE_SECONDS : 0);
  if (value) local.set(name, value);
  else local.remove(name);
};
