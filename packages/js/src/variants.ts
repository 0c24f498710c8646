// Variants as callers get them.

import type { Experiment, Variant as Sent } from "../../../api/sdk/browser/config.js";
import type { Variant } from "./types.js";

/** What the config may say of a variant: to the public, or to a server alone. */
type Described = Sent & { name?: string; payload?: unknown };
type Defined = Experiment & { definition?: { variants: Described[] } };

/** Describe a variant; `isPublic` leaves out what only a server is told. */
export const variantOf = (experiment: Experiment, index: number, isPublic: boolean): Variant => {
  const { id, is_control, ...shown } = experiment.variants[index] as Described;
  const secret = isPublic ? undefined : (experiment as Defined).definition?.variants[index];
  const { name = null, payload = null } = { ...secret, ...shown };
  return Object.freeze({
    name,
    index,
    isControl: is_control,
    payload,
    id,
    experimentId: experiment.experiment_id ?? experiment.id,
  });
};

/** Whether two variants say the same. */
export const isSame = (one: Variant | null | undefined, other: Variant | null): boolean => {
  const told = (variant: Variant): string =>
    JSON.stringify([variant.id, variant.index, variant.name, variant.payload]);
  return Boolean(one && other && told(one) === told(other));
};
