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
      const own = new Set(target.searchParams.keys());
      for (const [name, value] of new URL(url).searchParams)
        if (!own.has(name)) target.searchParams.append(name, value);
    }
    return target.href;
  } catch {
    return null;
  }
};
