// Assignment alone: hashes, and the variants of a visitor by a config, for code that does the rest itself.

import type { Config } from "../../../api/sdk/browser/config.js";
import { murmur3 as hash } from "../../../api/sdk/browser/hash.js";
import { createDecider } from "./decisions.js";
import type { Attributes } from "./types.js";

/** The answer of `GET /api/v1/sdk/config`. */
export interface SdkConfig {
  readonly schema: number;
  readonly experiments: readonly { readonly id: string; readonly test_key: string }[];
  /** Shipped variants, which everybody eligible gets. */
  readonly rollouts?: readonly { readonly experiment_id: string }[];
}

/** A visitor on a page. */
export interface Visit {
  visitor_id: string;
  user_id?: string | null;
  /** Without it, the pages of experiments are not checked. */
  url?: string;
  attributes?: Attributes;
  /** As document.cookie. */
  cookie?: string;
}

/** The file `assignment_vectors.json`: visits with the variant of each, to compare other implementations with. */
export interface AssignmentVectors {
  readonly format: number;
  readonly groups: Readonly<Record<string, string>>;
  readonly configs: readonly SdkConfig[];
  readonly cases: readonly (Visit & {
    readonly case: number;
    readonly group: string;
    readonly config: number;
    readonly experiment: string;
    readonly stored?: string;
    readonly now?: string;
    readonly first_seen?: string;
    readonly expected: number | "ask" | null;
  })[];
}

/** MurmurHash3 of a text in UTF-8: x86, 32 bits, seed 0. */
export const murmur3: (text: string) => number = hash;

/**
 * Decide each experiment of a config: experiment id → index of the variant, null where the visitor takes no part,
 * or `ask` where only the service can tell.
 *
 * `stored` are the variants that the visitor was given before: experiment id → variant id.
 */
export const decide = (
  config: SdkConfig,
  visit: Visit,
  stored: Readonly<Record<string, string>> = {},
  now: Date = new Date(),
): Record<string, number | "ask" | null> => {
  const known = config as unknown as Config;
  const decider = createDecider(
    known,
    () => visit.cookie ?? "",
    () => now,
  );
  const { visitor_id, user_id = null, url = "", attributes = {} } = visit;
  const here = { visitor_id, user_id, url, attributes };
  return Object.fromEntries(
    [...known.experiments, ...(known.rollouts ?? [])].map((experiment) => {
      const id = experiment.experiment_id ?? experiment.id;
      // Under the id of a rollout nothing is kept.
      const { index, needsServer } = decider.decide(experiment, here, () => stored[experiment.id]);
      return [id, needsServer ? "ask" : index];
    }),
  );
};
