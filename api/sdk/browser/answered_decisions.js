// Decisions in an answer of the server.

/**
 * The decisions of an answer, those of rollouts by their own ids.
 *
 * @param {{ assignments: import("./parts.js").ServerDecision[], rollouts?: (import("./parts.js").ServerDecision & { rollout_id: string })[] }} answer
 * @returns {import("./parts.js").ServerDecision[]}
 */
export const decisionsOf = ({ assignments, rollouts = [] }) => [
  ...assignments,
  ...rollouts.map((one) => ({ ...one, experiment_id: one.rollout_id })),
];
