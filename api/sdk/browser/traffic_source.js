// Traffic source: from UTM medium, click id and referrer, as the server classifies it.

const CLICK_IDS = /(?:gclid|fbclid|msclkid|ttclid|gbraid|wbraid)=/;
/** @type {[string, string][]} */
const SOURCES = [
  ["paid", "cpc ppc paid paidsearch paid_social display banner cpm"],
  ["email", "email e-mail newsletter"],
  ["social", "social social-media sm"],
  ["affiliate", "affiliate affiliates"],
  ["organic", "organic"],
  ["referral", "referral"],
];
const SEARCH_SITES = "google bing yahoo duckduckgo baidu yandex ecosia qwant naver startpage".split(
  " ",
);
const SOCIAL_SITES =
  "facebook instagram twitter linkedin pinterest reddit tiktok youtube threads".split(" ");
const SOCIAL_HOSTS = ["t.co", "x.com", "lnkd.in", "fb.me"];
const HOST = /^(?:[a-z][a-z0-9+.-]*:)?\/\/(?:[^/?#]*@)?(?:\[([^/?#\]]*)\]|([^/?#:]*))/i;

/** @type {(url: string) => string} */
const hostOf = (url) => {
  const found = HOST.exec(url);
  return (found?.[1] ?? found?.[2] ?? "").toLowerCase().replace(/^www\./, "");
};

/**
 * Classify a visit.
 *
 * @param {string} url
 * @param {string | null} utmMedium
 * @param {unknown} referrer
 * @returns {string | null}
 */
export const trafficSource = (url, utmMedium, referrer) => {
  const medium = (utmMedium ?? "").toLowerCase();
  const ofMedium = SOURCES.find(([, media]) => medium && media.split(" ").includes(medium));
  if (ofMedium) return ofMedium[0];
  if (CLICK_IDS.test(url)) return "paid";
  if (medium || url.includes("utm_")) return "campaign";
  if (typeof referrer !== "string") return null;
  const host = hostOf(referrer);
  if (!host || host === hostOf(url)) return "direct";
  const names = host.split(".");
  if (SOCIAL_HOSTS.includes(host)) return "social";
  if (names.some((name) => SEARCH_SITES.includes(name))) return "organic";
  return names.some((name) => SOCIAL_SITES.includes(name)) ? "social" : "referral";
};
