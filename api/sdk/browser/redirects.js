// Targets of redirects.

/**
 * Where a variant leads from a page; null without a redirect, or with a target that is no address.
 *
 * @type {(experiment: import("./config.js").Experiment, variant: import("./config.js").Variant, url: string) => string | null}
 */
export const redirectUrl = (experiment, variant, url) => {
  const change = variant.changes.find((one) => one.action === "replace");
  if (experiment.type !== "redirect" || !change) return null;
  try {
    const target = new URL(change.value, url);
    if (experiment.relay_params) {
      const page = new URL(url);
      const own = new Set(target.searchParams.keys());
      // As they were written; a question mark at the start would be taken for that of a query.
      const relayed = page.search
        .slice(1)
        .split("&")
        .filter(
          (text) => text && !own.has(new URLSearchParams(`&${text}`).keys().next().value ?? ""),
        );
      if (relayed.length)
        target.search = [target.search.slice(1), ...relayed].filter(Boolean).join("&");
      if (!target.hash) target.hash = page.hash;
    }
    return target.href;
  } catch {
    return null;
  }
};
