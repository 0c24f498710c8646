/** Config of the project, which the server appends to the built script. */
declare const CONFIG: import("./config.js").Config;

/** Parts of the script, which the server appends after the config. */
declare const GIVEN: ((
  parts: import("./parts.js").Shared,
  config: import("./config.js").Config,
) => void)[];

/** In a part: what parts offer together, and what the core offers them. */
declare const PARTS: import("./parts.js").Shared;

/** In the debug panel: what it needs of the script. */
declare const VISIT: () => import("./parts.js").Visit;
declare const CURRENT: () => Map<string, import("./page_decisions.js").Current>;
declare const CONSENT: () => import("./consent.js").Consent;

interface Navigator {
  readonly globalPrivacyControl?: boolean;
}

interface Document {
  readonly prerendering?: boolean;
}
