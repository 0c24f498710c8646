// Eligibility of a visitor by the targeting rules of a config.

import { attributesOf } from "./attributes.js";
import { finds } from "./automaton.js";
import { holds } from "./targeting.js";

/**
 * Give what decides on targeting rules and regular expressions of a config.
 *
 * @param {import("./config.js").Config} config
 * @param {() => string} cookies as document.cookie
 * @param {() => Date} now
 * @returns {Pick<import("./parts.js").Parts, "matchesAutomaton" | "isEligible">}
 */
export const createEligibility = (config, cookies, now) => {
  /** @type {(index: number, text: string) => boolean} */
  const matchesAutomaton = (index, text) => {
    const automaton = config.automata[index];
    return Boolean(automaton && finds(automaton, text));
  };
  return {
    matchesAutomaton,
    isEligible: ({ targeting }, visit) =>
      !targeting ||
      holds(targeting, attributesOf(config, visit, cookies(), now()), matchesAutomaton),
  };
};
