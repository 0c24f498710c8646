/** Config of the project, which the server appends to the built script. */
declare const CONFIG: import("./config.js").Config;

/** Parts of the script, which the server appends after the config. */
declare const GIVEN: ((
  parts: Partial<import("./parts.js").Parts>,
  config: import("./config.js").Config,
) => void)[];

/** In a part: what parts offer together. */
declare const PARTS: Partial<import("./parts.js").Parts>;

interface Navigator {
  readonly globalPrivacyControl?: boolean;
}

interface Document {
  readonly prerendering?: boolean;
}
