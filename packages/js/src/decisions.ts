// Decisions on the experiments of a config, by the same modules as the script of a page.

import { placeOfUnit, variantOnPage } from "../../../api/sdk/browser/assignment.js";
import type { Config, Experiment } from "../../../api/sdk/browser/config.js";
import { createEligibility } from "../../../api/sdk/browser/eligibility.js";
import { isOutsideSlots } from "../../../api/sdk/browser/exclusion_slots.js";
import type { Visit } from "../../../api/sdk/browser/parts.js";
import { unitId } from "../../../api/sdk/browser/units.js";
import { isUnsettled } from "../../../api/sdk/browser/unsettled.js";

/** Without the address of a page, an experiment is on any. */
const ANYWHERE: Experiment["pages"] = {
  include: [{ match_type: "contains", value: "" }],
  exclude: [],
};

/** Whether only the server can tell the variants of some visitors. */
export const mayNeedServer = ({ decided_by_server, unsettled }: Experiment): boolean =>
  decided_by_server || Boolean(unsettled);

export interface Decision {
  /** Of the variant; null where the visitor takes no part. */
  readonly index: number | null;
  /** The id that the experiment assigns by; null without one. */
  readonly unit: string | null;
  /** Where the variant of the unit is kept. */
  readonly place: string;
  /** Whether only the server can tell. */
  readonly needsServer: boolean;
}

export interface Decider {
  decide(
    experiment: Experiment,
    visit: Visit,
    storedAt: (place: string, unit: string) => string | undefined,
    /** Whether the visitor cannot have a variant from before. */
    isNew?: boolean,
  ): Decision;
}

/** Give what decides by a config; `cookies` is as document.cookie. */
export const createDecider = (
  config: Config,
  cookies: () => string,
  now = (): Date => new Date(),
): Decider => {
  const eligibility = createEligibility(config, cookies, now);
  return {
    decide: (experiment, visit, storedAt, isNew = false) => {
      const unit = experiment.unit ? unitId(experiment.unit, visit) : visit.visitor_id;
      if (unit === null) return { index: null, unit, place: "", needsServer: false };
      const place = placeOfUnit(experiment, unit);
      let needsServer = experiment.decided_by_server;
      const here = visit.url || needsServer ? experiment : { ...experiment, pages: ANYWHERE };
      const index = variantOnPage(here, visit, unit, storedAt(place, unit), {
        ...eligibility,
        isExcluded: (one, id) => {
          if (isOutsideSlots(one, id)) return true;
          needsServer = !isNew && isUnsettled(one, id);
          return needsServer;
        },
      });
      return { index, unit, place, needsServer };
    },
  };
};
