// Targeting attributes of a visitor, as the server derives them: from the page, the visit and the clock.

import { KNOWN_ATTRIBUTES } from "./known_attributes.js";
import { trafficSource } from "./traffic_source.js";
import { SPACE_AROUND } from "./white_space.js";

const LONGEST = 256;
const VISITOR_TYPES = ["new", "returning"];
const DEVICE_TYPES = ["desktop", "mobile", "tablet"];
const KNOWN = new Set(KNOWN_ATTRIBUTES.split(" "));

/**
 * A text, number or boolean as text; null where it is none of these.
 *
 * @param {unknown} value
 * @returns {string | null}
 */
export const textOf = (value) => {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return null;
    // The server writes 5e-05.
    const isTiny = value && Math.abs(value) < 1e-4;
    return isTiny ? value.toExponential().replace(/-(\d)$/, "-0$1") : String(value);
  }
  return typeof value === "string" || typeof value === "boolean" ? String(value) : null;
};

/** @type {(text: string) => string} */
const cut = (text) => (text.length > LONGEST ? Array.from(text).slice(0, LONGEST).join("") : text);

/** @type {(value: unknown) => string | null} */
const keptText = (value) => {
  const text = textOf(value);
  return (typeof value === "string" ? cut(value).replace(SPACE_AROUND, "") : text) || null;
};

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @type {(text: string | null, words: string[]) => string | null} */
const oneOf = (text, words) => words.find((word) => word === text?.toLowerCase()) ?? null;

/** @type {(code: string | null) => string | null} */
const countryOf = (code) => {
  const upper = code?.toUpperCase() ?? "";
  if (!code || upper === "XX" || upper === "T1") return null;
  return code.length === 2 ? upper : code;
};

/** @type {(cookie: string) => [string, string][]} */
const cookiesIn = (cookie) =>
  // Of two cookies of one name, the first is that of the longer path.
  cookie
    .split("; ")
    .reverse()
    .map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [name, value.join("=")];
    });

/** @type {(attributes: Record<string, unknown>) => Record<string, unknown>} */
const dimensionsIn = (attributes) => {
  const own = Object.entries(attributes).filter(
    ([name, value]) => !KNOWN.has(name) && value !== null,
  );
  const nested = [attributes.custom_dimensions, attributes.custom_dimension].filter(isObject);
  return Object.fromEntries(
    [...own, ...nested.flatMap((values) => Object.entries(values))].map(([name, value]) => [
      cut(name),
      keptText(value),
    ]),
  );
};

/** @type {(now: Date, timeZone: string, options: Intl.DateTimeFormatOptions) => string | null} */
const clock = (now, timeZone, options) => {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone, ...options }).format(now).toLowerCase();
  } catch {
    // A zone that the browser does not know.
    return null;
  }
};

/**
 * Give the targeting attributes of a visitor on a page, each derived when it is asked for.
 *
 * @param {import("./config.js").Config} config
 * @param {{ user_id: string | null, url: string, attributes: Record<string, unknown> }} visit
 * @param {string} cookie as document.cookie
 * @param {Date} now
 * @returns {(field: string, key: string | undefined) => unknown} null or undefined where it is unknown
 */
export const attributesOf = (config, visit, cookie, now) => {
  const { attributes, url } = visit;
  const facts = config.facts ?? {};
  const [beforeFragment = ""] = url.split("#");
  const parameters = [...new URLSearchParams(beforeFragment.split("?").slice(1).join("?"))];
  /** @type {(name: string) => string | null} */
  const given = (name) => keptText(attributes[name]);
  /** @type {(name: string) => string | null} */
  const utm = (name) => {
    const query = url.includes("?") ? url.slice(url.indexOf("?") + 1).split("#")[0] : "";
    const tagged = new URLSearchParams(query).getAll(name).find((value) => value);
    return given(name) ?? (tagged ? cut(tagged) : null);
  };
  /** @type {(names: string[], pairs: [string, string][]) => Record<string, unknown>} */
  const keyed = (names, pairs) => ({
    ...Object.fromEntries(pairs),
    ...names.map((name) => attributes[name]).find(isObject),
  });
  /** @type {Record<string, () => unknown>} */
  const fields = {
    country: () => countryOf(given("country")) ?? facts.country,
    region: () => given("region") ?? facts.region,
    city: () => attributes.city || facts.city,
    device_type: () => oneOf(given("device_type"), DEVICE_TYPES) ?? facts.device_type,
    browser: () => given("browser") ?? facts.browser,
    os: () => given("os") ?? facts.os,
    language: () => attributes.language || null,
    visitor_type: () => oneOf(given("visitor_type"), VISITOR_TYPES),
    visitor_identity: () => {
      const stated = attributes.visitor_identity;
      const isStated =
        typeof stated === "string" &&
        stated.replace(SPACE_AROUND, "").toLowerCase() === "identified";
      return visit.user_id !== null || isStated ? "identified" : "anonymous";
    },
    traffic_source: () =>
      given("traffic_source") ?? trafficSource(url, utm("utm_medium"), attributes.referrer),
    referrer: () => attributes.referrer,
    utm_source: () => utm("utm_source"),
    utm_medium: () => utm("utm_medium"),
    utm_campaign: () => utm("utm_campaign"),
    url: () => url || null,
    query_param: () => keyed(["query_param", "query_params"], parameters),
    cookie: () => keyed(["cookie", "cookies"], cookiesIn(cookie)),
    custom_dimension: () => dimensionsIn(attributes),
    day_of_week: () => clock(now, config.time_zone, { weekday: "long" }),
    hour_of_day: () => {
      const hour = clock(now, config.time_zone, { hour: "numeric", hourCycle: "h23" });
      return hour && Number(hour);
    },
  };
  return (field, key) => {
    const value = fields[field]?.();
    if (key === undefined) return value;
    return isObject(value) ? new Map(Object.entries(value)).get(key) : null;
  };
};
