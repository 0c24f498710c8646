// Pages of an experiment: URL patterns, as the server compares them.

/** @typedef {import("./config.js").PageRule} PageRule */
/** @typedef {(index: number, text: string) => boolean} MatchesAutomaton */

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i;

/** @type {(url: string) => string} */
const withPlainOrigin = (url) =>
  url.replace(ORIGIN, (origin) =>
    origin
      .toLowerCase()
      .replace(/^(http:.*):80$|^(https:.*):443$/, (_, plain, secure) => plain ?? secure),
  );

/** @type {(pattern: string, url: string) => string} */
const partFor = (pattern, url) => {
  if (pattern[0] !== "/") return url;
  const rest = url.replace(ORIGIN, "");
  return rest[0] === "/" ? rest : `/${rest}`;
};

/** @type {(text: string) => string} */
const decoded = (text) =>
  // Unlike decodeURIComponent, it never throws: bytes that are no UTF-8 become U+FFFD.
  new URLSearchParams(`=${text.replace(/[+&]/g, (sign) => encodeURIComponent(sign))}`).get("") ??
  "";

/** @type {(url: string) => [string, string[]]} */
const pageAndQuery = (url) => {
  const [page = "", ...query] = (url.split("#")[0] ?? "").split("?");
  // A question mark at the beginning would be dropped.
  const pairs = [...new URLSearchParams(`&${query.join("?")}`)].map((pair) => JSON.stringify(pair));
  return [decoded(withPlainOrigin(page)).replace(/\/+$/, ""), pairs];
};

/** @type {Record<string, (pattern: string, url: string) => boolean>} */
const MATCHERS = {
  exact(pattern, url) {
    const [page, wanted] = pageAndQuery(pattern);
    const [seen, query] = pageAndQuery(partFor(pattern, url));
    return (
      page === seen &&
      wanted.every((pair) => {
        const index = query.indexOf(pair);
        return index >= 0 && query.splice(index, 1);
      })
    );
  },
  starts_with: (pattern, url) =>
    pattern[0] === "/"
      ? partFor(pattern, url).startsWith(pattern)
      : withPlainOrigin(url).startsWith(withPlainOrigin(pattern)),
  ends_with: (pattern, url) => url.endsWith(pattern),
  contains: (pattern, url) => url.includes(pattern),
  wildcard(pattern, url) {
    let seen = partFor(pattern, url);
    const [first = "", ...between] = pattern.split("*");
    const last = between.pop();
    if (last === undefined) return seen === first;
    if (seen.length < first.length + last.length) return false;
    if (!seen.startsWith(first) || !seen.endsWith(last)) return false;
    seen = seen.slice(first.length, seen.length - last.length);
    return between.every((literal) => {
      const at = seen.indexOf(literal);
      seen = seen.slice(at + literal.length);
      return at >= 0;
    });
  },
};

/**
 * Whether an experiment is on a page.
 *
 * @param {Pick<import("./config.js").Experiment, "pages">} experiment
 * @param {string} url
 * @param {MatchesAutomaton} [matchesAutomaton]
 * @returns {boolean}
 */
export const coversPage = ({ pages }, url, matchesAutomaton) => {
  /** @type {(rule: PageRule) => boolean | undefined} */
  const matches = (rule) =>
    "automaton" in rule
      ? matchesAutomaton?.(rule.automaton, url)
      : MATCHERS[rule.match_type]?.(rule.value, url);
  return Boolean(pages && !pages.exclude.some(matches) && pages.include.some(matches));
};
