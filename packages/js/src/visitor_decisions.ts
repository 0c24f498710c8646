// Decisions on a client's visitor: by the config, by what is known from before, or by the service.

import type { Experiment } from "../../../api/sdk/browser/config.js";
import type { ServerDecision, Visit } from "../../../api/sdk/browser/parts.js";
import { type Decider, type Decision, mayNeedServer } from "./decisions.js";
import type { HeldVisitor } from "./held_visitor.js";
import { askServer } from "./server_answers.js";
import type { Variant } from "./types.js";
import { variantOf } from "./variants.js";
import { experimentOf, type VisitorState } from "./visitor_state.js";

export interface VisitorDecisions {
  decide(experiment: Experiment, visitor: HeldVisitor): Decision;
  /** The variant of a test key, as this side sees it. */
  answer(key: string): Variant | null;
  /** The variant as the public may see it. */
  publicVariant(experiment: Experiment): Variant | null;
  /** Ask the service where it alone can tell: once for a state of the visitor. */
  ask(): void;
  /** Resolves when the service has answered. */
  asked(): Promise<void>;
  /** Forget the answers of the service: all, or those that are of one page. */
  forget(isPage: boolean): void;
}

/** Give what decides on a visitor; `onAnswer` is called when the service has answered. */
export const createVisitorDecisions = (
  state: VisitorState,
  onAnswer: () => void,
): VisitorDecisions => {
  const { project, place, given } = state;
  /** By experiment id. */
  const answers = new Map<string, ServerDecision>();
  let askedFor = "";
  let asking: Promise<void> = Promise.resolve();

  const visitOf = (visitor: HeldVisitor): Visit => ({
    visitor_id: visitor.visitorId(),
    user_id: visitor.userId(),
    url: place.url(),
    attributes: visitor.attributes(),
  });

  /** The variant that a server has rendered for this visitor; one of an account may be that of another one. */
  const renderedOf = ({ unit, variants, test_key }: Experiment): Variant | null => {
    const shown = state.ofServer[test_key];
    return (!unit && shown && variants.some(({ id }) => id === shown.id) && shown) || null;
  };

  const decide = (experiment: Experiment, visitor: HeldVisitor): Decision => {
    const { id, variants } = experiment;
    const first = (at: string, unit: string): string | undefined =>
      visitor.storedVariant(at, unit, variants) ??
      variants.find((variant) => variant.id === given.assigned?.[id])?.id ??
      renderedOf(experiment)?.id;
    const { decide: byConfig } = project.decider as Decider;
    const decided = byConfig(experiment, visitOf(visitor), first, visitor.isNew());
    const answer = decided.needsServer && answers.get(id);
    if (!answer) return decided;
    const index = variants.findIndex((variant) => variant.id === answer.variant_id);
    const isShown = index >= 0 && answer.covers_page !== false;
    return { ...decided, index: isShown ? index : null, needsServer: false };
  };

  return {
    decide,
    answer: (key) => {
      const { consent, held } = state;
      const experiment = experimentOf(state, key);
      const forced = experiment?.variants.findIndex(({ id }) => id === place.forced[experiment.id]);
      if (experiment && forced !== undefined && forced >= 0)
        return variantOf(experiment, forced, true);
      if (consent === "denied") return null;
      if (!held || !project.config) return state.ofServer[key] ?? null;
      if (!experiment) return null;
      const { index } = decide(experiment, held);
      if (index !== null) return variantOf(experiment, index, !place.isServer);
      // What a server has rendered stays, also where it did not know the page.
      return renderedOf(experiment);
    },
    publicVariant: (experiment) => {
      const { consent, held } = state;
      const index = held && consent === "granted" ? decide(experiment, held).index : null;
      return index === null ? null : variantOf(experiment, index, true);
    },
    ask: () => {
      const { held } = state;
      if (!held || !project.config || state.consent !== "granted") return;
      const open = project.config.experiments.filter(
        (experiment) => mayNeedServer(experiment) && decide(experiment, held).needsServer,
      );
      const visit = visitOf(held);
      const askFor = JSON.stringify([visit, open.map(({ id }) => id)]);
      if (!open.length || askFor === askedFor) return;
      askedFor = askFor;
      asking = askServer(project.connection, visit).then((received) => {
        if (askedFor !== askFor) return;
        for (const one of received) answers.set(one.experiment_id, one);
        onAnswer();
      });
    },
    asked: () => asking,
    forget: (isPage) => {
      if (!isPage) answers.clear();
      // The service alone knows the pages of these.
      for (const { id, decided_by_server } of project.config?.experiments ?? [])
        if (decided_by_server) answers.delete(id);
    },
  };
};
