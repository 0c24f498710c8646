// Part: targeting rules, and automata of regular expressions.

import { cookies } from "../cookies.js";
import { createEligibility } from "../eligibility.js";

Object.assign(PARTS, createEligibility(CONFIG, cookies, () => new Date()));
