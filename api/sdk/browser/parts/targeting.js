// Part: targeting rules, and automata of regular expressions.

import { attributesOf } from "../attributes.js";
import { finds } from "../automaton.js";
import { cookies } from "../cookies.js";
import { holds } from "../targeting.js";

/** @type {(index: number, text: string) => boolean} */
const matchesAutomaton = (index, text) => {
  const automaton = CONFIG.automata[index];
  return Boolean(automaton && finds(automaton, text));
};

PARTS.matchesAutomaton = matchesAutomaton;
PARTS.isEligible = ({ targeting }, visit) =>
  !targeting ||
  holds(targeting, attributesOf(CONFIG, visit, cookies(), new Date()), matchesAutomaton);
