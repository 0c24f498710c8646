// Part: experiments that assign other units than the visitor.

import { unitId } from "../units.js";

PARTS.unitId = unitId;
