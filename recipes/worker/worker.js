// A Cloudflare Worker before a site: it decides on a visitor's variant, and changes the page before it is seen.

import { createClient } from "@truelift/js/node";

/** Milliseconds for which the answer with the experiments serves all requests, and after which a failure is tried again. */
const KEPT_MS = 30_000;
const FAILED_MS = 10_000;
/** Longest time that a page waits for the service; the site is asked meanwhile. */
const LONGEST_WAIT_MS = 1_000;
/** 400 days, the longest that browsers keep a cookie. */
const COOKIE = "Path=/; Max-Age=34560000; SameSite=Lax";
const VISITOR = /(?:^|;\s*)truelift_visitor=([\w-]{8,64})\s*(?=;|$)/;

/** Text alone outlives a request: what is open of one is closed to the next. */
let kept = { text: "", settings: null, until: 0 };

const keep = (text, ms) => {
  kept = { text, settings: text ? JSON.parse(text).settings : null, until: Date.now() + ms };
};

const readExperiments = async (address, init) => {
  try {
    const answer = await fetch(address, init);
    if (!answer.ok) throw new Error(`${answer.status}`);
    keep(await answer.text(), KEPT_MS);
  } catch (error) {
    keep("", FAILED_MS);
    console.warn(`truelift: ${error}`);
  }
};

/** Ask the service; for its experiments, once in a while. `fail` is called where there are none. */
const asking = (fail) => async (address, init) => {
  if (init.method === "POST") return fetch(address, init);
  if (Date.now() >= kept.until) await readExperiments(address, init);
  if (!kept.text) fail();
  return new Response(kept.text, { status: kept.text ? 200 : 503 });
};

/** The id of the cookie, or a new one; null where the visitor may have none by the project's settings. */
const visitorIdOf = ({ headers }, settings) => {
  if (settings.respect_gpc && headers.get("Sec-GPC") === "1") return null;
  if (settings.respect_dnt && headers.get("DNT") === "1") return null;
  const [, known] = headers.get("Cookie")?.match(VISITOR) ?? [];
  return known ?? (settings.require_consent ? null : crypto.randomUUID());
};

/** What targeting, segments and the bot filter take of a request. */
const attributesOf = ({ headers, cf }) => ({
  user_agent: headers.get("User-Agent") ?? "",
  referrer: headers.get("Referer") ?? "",
  language: headers.get("Accept-Language")?.split(",")[0] ?? "",
  ...(cf?.country ? { country: cf.country } : {}),
});

/** The visitor of a request, whose variants are known; null where nothing can be decided. */
const visitorOf = async (client, failed, request) => {
  await Promise.race([client.ready, failed]);
  const id = kept.settings && visitorIdOf(request, kept.settings);
  if (!id) return null;
  const visitor = client.forVisitor(id, attributesOf(request), { url: request.url });
  await visitor.ready;
  return visitor;
};

/** The whole page, also where the browser has one: that may be of another variant. */
const askSite = (request) => {
  const whole = new Request(request);
  for (const name of ["If-None-Match", "If-Modified-Since"]) whole.headers.delete(name);
  return fetch(whole);
};

/** The page with the texts of a variant, whose payload is `{"h1": "Free delivery"}`: text by selector. */
const changed = (page, variant) => {
  const rewriter = new HTMLRewriter();
  for (const [selector, text] of Object.entries(variant?.payload ?? {}))
    rewriter.on(selector, { element: (element) => void element.setInnerContent(text) });
  return rewriter.transform(page);
};

/** The page for one visitor alone: with the cookies, and kept by nobody. */
const personal = (page, visitorId, { protocol, hostname }, domain) => {
  const answer = new Response(page.body, page);
  for (const name of ["ETag", "Last-Modified"]) answer.headers.delete(name);
  answer.headers.set("Cache-Control", "private, no-cache");
  const wanted = domain?.replace(/^\./, "");
  const isOurs = wanted && `.${hostname}`.endsWith(`.${wanted}`);
  const rest = `${COOKIE}${isOurs ? `; Domain=${wanted}` : ""}${protocol === "https:" ? "; Secure" : ""}`;
  answer.headers.append("Set-Cookie", `truelift_visitor=${visitorId}; ${rest}`);
  // Tells the snippet to leave the visitor's cookie as it is.
  answer.headers.append("Set-Cookie", `truelift_by_server=1; ${rest}`);
  return answer;
};

export default {
  async fetch(request, env, ctx) {
    // Whatever fails here, visitors see the site.
    ctx.passThroughOnException();
    const isPage = request.method === "GET" && request.headers.get("Accept")?.includes("text/html");
    if (!isPage) return fetch(request);
    // One for each request, since its timers and requests end with that.
    const { promise: failed, resolve: fail } = Promise.withResolvers();
    const client = createClient({
      baseUrl: env.TRUELIFT_BASE_URL,
      apiKey: env.TRUELIFT_API_KEY,
      projectId: env.TRUELIFT_PROJECT_ID,
      timeoutMs: LONGEST_WAIT_MS,
      refreshMs: 0,
      fetch: asking(fail),
    });
    const [page, visitor] = await Promise.all([
      askSite(request),
      visitorOf(client, failed, request),
    ]);
    const isHtml = page.ok && page.headers.get("Content-Type")?.startsWith("text/html");
    if (!visitor || !isHtml) {
      ctx.waitUntil(client.close());
      return page;
    }
    const variant = visitor.peek(env.TRUELIFT_TEST_KEY);
    const answer = changed(page, variant);
    // Now that nothing can fail any more, the visitor is exposed.
    visitor.variant(env.TRUELIFT_TEST_KEY);
    ctx.waitUntil(client.close());
    return personal(answer, visitor.visitorId, new URL(request.url), kept.settings?.cookie_domain);
  },
};
