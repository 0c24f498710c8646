// State of a client's visitor, and what it depends on.

import type { Config, Experiment } from "../../../api/sdk/browser/config.js";
import type { Consent, HeldConsent } from "./held_consent.js";
import type { HeldVisitor } from "./held_visitor.js";
import type { Project } from "./project.js";
import type { Attributes, Bootstrap } from "./types.js";

/** What differs between a visitor of a page and one of a server. */
export interface Place {
  /** Address of the page; empty without one. */
  url(): string;
  /** Whether a server renders pages here, so that it decides what they show. */
  readonly isServer: boolean;
  /** Whether there is a visitor for each request: they cannot all listen to each config. */
  readonly isBrief: boolean;
  readonly consent: HeldConsent;
  /** Variants of a preview, which counts nobody: experiment id → variant id. */
  readonly forced: Readonly<Record<string, string>>;
  /** The visitor, once counting is permitted. */
  recall(config: Config | null): HeldVisitor;
  /** Call back when events may be kept. */
  whenActive(callback: () => void): void;
  /** Exposures that are recorded. */
  readonly exposed: { has(key: string): boolean; add(key: string): unknown };
  /** Why an event cannot be kept; null where it can. */
  refusal(): string | null;
  /** Forget events of a visitor who no longer agrees. */
  discard(): void;
}

/** What the caller knows of the visitor. */
export interface Given {
  visitorId: string | undefined;
  userId: string | null | undefined;
  attributes: Attributes | undefined;
  /** Variant ids by experiment id. */
  assigned: Readonly<Record<string, string>> | undefined;
  bootstrap: Bootstrap | undefined;
}

export interface VisitorState {
  readonly project: Project;
  readonly place: Place;
  readonly given: Given;
  consent: Consent;
  /** Null as long as the visitor may not be known. */
  held: HeldVisitor | null;
  /** What a server has rendered, as long as it holds. */
  ofServer: Bootstrap["variants"];
}

/** The experiment of a test key or an id. */
export const experimentOf = ({ project }: VisitorState, key: string): Experiment | undefined => {
  const experiments = project.config?.experiments ?? [];
  return (
    experiments.find(({ test_key }) => test_key === key) ?? experiments.find(({ id }) => id === key)
  );
};
