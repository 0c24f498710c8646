// Part: experiments of exclusion groups. It comes after that of the server's decisions, which it asks next.

import { isOutsideSlots } from "../exclusion_slots.js";

const { isExcluded } = PARTS;

PARTS.isExcluded = (experiment, unit) =>
  isOutsideSlots(experiment, unit) || Boolean(isExcluded?.(experiment, unit));
