// Client of one visitor: variants, exposures and events.

import { now, timestamp } from "../../../api/sdk/browser/clock.js";
import type { Config, Experiment } from "../../../api/sdk/browser/config.js";
import { newId } from "../../../api/sdk/browser/ids.js";
import type { ServerDecision, Visit } from "../../../api/sdk/browser/parts.js";
import { within } from "./config_source.js";
import { type Decider, mayNeedServer } from "./decisions.js";
import type { Consent, HeldConsent } from "./held_consent.js";
import type { HeldVisitor } from "./held_visitor.js";
import type { Project } from "./project.js";
import { askServer } from "./server_answers.js";
import type { AnyFlags, Attributes, Bootstrap, Variant, VisitorClient } from "./types.js";
import { isSame, variantOf } from "./variants.js";

const LONGEST_URL = 2_048;
/** Events that wait for the consent. */
const MOST_PENDING = 1_000;

/** What differs between a visitor of a page and one of a server. */
export interface Place {
  /** Address of the page; empty without one. */
  url(): string;
  /** Whether a server renders pages here, so that it decides what they show. */
  readonly isServer: boolean;
  readonly consent: HeldConsent;
  /** The visitor, once counting is permitted. */
  recall(config: Config | null): HeldVisitor;
  /** Call back when events may be kept. */
  whenActive(callback: () => void): void;
  /** Remember that an exposure is recorded; false where it is already. */
  expose(key: string): boolean;
  /** Why an event cannot be kept; null where it can. */
  refusal(): string | null;
  /** Forget events of a visitor who no longer agrees. */
  discard(): void;
}

export interface Given {
  visitorId: string | undefined;
  userId: string | null | undefined;
  attributes: Attributes | undefined;
  assigned: Readonly<Record<string, string>> | undefined;
  bootstrap: Bootstrap | undefined;
}

/** Make the client of a visitor; `end` ends what it listens to. */
export const createVisitorClient = (
  project: Project,
  place: Place,
  given: Given,
): { client: VisitorClient; settle: () => void; end: () => void } => {
  const listeners = new Set<() => void>();
  /** What was answered by now, so that one state of the client has one object for a variant. */
  const answered = new Map<string, Variant | null>();
  let answeredFor = place.url();
  let consent: Consent = "pending";
  let held: HeldVisitor | null = null;
  let pending: (() => void)[] = [];
  const pendingExposures = new Set<string>();
  let ofServer = given.bootstrap?.variants ?? {};
  const shown = new Map<string, Variant | null>();
  /** Of the service, by experiment id. */
  const fromServer = new Map<string, ServerDecision>();
  let askedFor = "";
  let asking: Promise<void> = Promise.resolve();

  const changed = (): void => {
    answered.clear();
    for (const listener of [...listeners]) {
      try {
        listener();
      } catch (error) {
        project.fail({ message: `${error}` });
      }
    }
  };

  const visitOf = (visitor: HeldVisitor): Visit => ({
    visitor_id: visitor.visitorId(),
    user_id: visitor.userId(),
    url: place.url(),
    attributes: visitor.attributes(),
  });

  /** The variant that a server has rendered for this visitor; one of an account may be that of another one. */
  const renderedOf = ({ unit, variants, test_key }: Experiment): Variant | null => {
    const given = ofServer[test_key];
    return (!unit && given && variants.some(({ id }) => id === given.id) && given) || null;
  };

  const decide = (experiment: Experiment, visitor: HeldVisitor) => {
    const { id, variants } = experiment;
    const first = (at: string, unit: string): string | undefined =>
      visitor.storedVariant(at, unit, variants) ??
      variants.find((variant) => variant.id === given.assigned?.[id])?.id ??
      renderedOf(experiment)?.id;
    const decided = (project.decider as Decider).decide(
      experiment,
      visitOf(visitor),
      first,
      visitor.isNew(),
    );
    if (!decided.needsServer) return { ...decided, isOpen: false };
    const answer = fromServer.get(id);
    const index = variants.findIndex((variant) => variant.id === answer?.variant_id);
    const isShown = index >= 0 && answer?.covers_page !== false;
    return { ...decided, index: isShown ? index : null, isOpen: !answer };
  };

  const experimentOf = (key: string): Experiment | undefined => {
    const experiments = project.config?.experiments ?? [];
    return (
      experiments.find(({ test_key }) => test_key === key) ??
      experiments.find(({ id }) => id === key)
    );
  };

  const answer = (key: string): Variant | null => {
    if (consent === "denied") return null;
    if (!held || !project.config) return ofServer[key] ?? null;
    const experiment = experimentOf(key);
    if (!experiment) return null;
    const { index } = decide(experiment, held);
    if (index !== null) return variantOf(experiment, index, !place.isServer);
    // What a server has rendered stays, also where it did not know the page.
    return renderedOf(experiment);
  };

  const peek = (key: string): Variant | null => {
    if (answeredFor !== place.url()) {
      answered.clear();
      answeredFor = place.url();
      // The service alone knows the pages of these.
      for (const { id, decided_by_server } of project.config?.experiments ?? [])
        if (decided_by_server) fromServer.delete(id);
      ask();
    }
    let found = answered.get(key);
    if (found === undefined) {
      found = answer(key);
      // A server's own object, as long as it says the same.
      if (isSame(ofServer[key], found)) found = ofServer[key] ?? null;
      answered.set(key, found);
    }
    return found;
  };

  /** Ask the service where it alone can tell: once for a state of the visitor. */
  const ask = (): void => {
    const { config } = project;
    if (!held || !config || consent !== "granted") return;
    const visitor = held;
    const open = config.experiments.filter(
      (experiment) => mayNeedServer(experiment) && decide(experiment, visitor).isOpen,
    );
    const visit = visitOf(visitor);
    const state = JSON.stringify([visit, open.map(({ id }) => id)]);
    if (!open.length || state === askedFor) return;
    askedFor = state;
    asking = askServer(project.connection, visit).then((answers) => {
      if (askedFor !== state) return;
      for (const one of answers) fromServer.set(one.experiment_id, one);
      changed();
    });
  };

  const whenGranted = (action: () => void): void => {
    if (consent === "granted") action();
    else if (consent === "pending" && pending.length < MOST_PENDING) pending.push(action);
  };

  const record = (type: string, fields: Record<string, unknown>, url = place.url()): void => {
    const event = {
      event_id: newId(),
      type,
      timestamp: timestamp(now()),
      ...(url ? { url: url.slice(0, LONGEST_URL) } : {}),
      ...fields,
    };
    whenGranted(() =>
      place.whenActive(() => {
        const user_id = held?.userId();
        try {
          const refusal = place.refusal();
          if (refusal) throw new Error(`an event is lost: ${refusal}`);
          project.outbox?.keep({
            ...event,
            visitor_id: held?.visitorId(),
            ...(user_id ? { user_id } : {}),
          });
        } catch (error) {
          project.fail({ message: `${error instanceof Error ? error.message : error}` });
        }
      }),
    );
  };

  const expose = (variant: Variant): void => {
    const key = `${variant.experimentId} ${variant.id}`;
    if (consent === "pending") {
      if (pendingExposures.has(key)) return;
      pendingExposures.add(key);
      whenGranted(() => expose(variant));
      return;
    }
    const experiment = experimentOf(variant.experimentId);
    if (!held || !experiment) return;
    const { unit, place: at } = decide(experiment, held);
    if (unit === null || !place.expose(`${held.visitorId()} ${at} ${variant.id}`)) return;
    record("exposure", {
      experiment_id: variant.experimentId,
      variant_id: variant.id,
      attributes: held.attributes(),
    });
    const visitor = held;
    place.whenActive(() => visitor.keepVariant(at, unit, variant.id));
  };

  const identify = (
    userId: string | null | undefined,
    attributes: Attributes | undefined,
    isNews: boolean,
  ): void => {
    try {
      held?.identify(userId, attributes);
      if (isNews && userId) record("identify", { attributes });
    } catch (error) {
      project.fail({ message: `${error instanceof Error ? error.message : error}` });
    }
  };

  const begin = (): void => {
    held = place.recall(project.config);
    if (given.userId !== undefined || given.attributes)
      identify(given.userId, given.attributes, false);
    project.outbox?.open();
    const waiting = pending;
    pending = [];
    pendingExposures.clear();
    for (const action of waiting) action();
  };

  const erase = (): void => {
    place.discard();
    held?.forget();
    held = null;
    ofServer = {};
    fromServer.clear();
    changed();
  };

  const settle = (): void => {
    const before = consent;
    consent = place.consent.read(project.config, settle);
    if (consent === "granted" && (before !== "granted" || !held)) begin();
    if (consent === "denied") pending = [];
    if (consent === "denied" && before === "granted") erase();
    ask();
    changed();
  };

  settle();
  // A server has a visitor for each request, which cannot all listen to each config.
  const unfollow = place.isServer ? () => {} : project.follow(settle);
  if (place.isServer && !project.config) project.known.then(settle);

  const publicVariant = (experiment: Experiment): Variant | null => {
    const index = held && consent === "granted" ? decide(experiment, held).index : null;
    return index === null ? null : variantOf(experiment, index, true);
  };

  /** What pages are rendered with: what `bootstrap` tells their client, so that this renders the same. */
  const rendered = (key: string): Variant | null => {
    if (!place.isServer || given.bootstrap) return given.bootstrap?.variants[key] ?? null;
    const experiment = experimentOf(key);
    const found = experiment ? publicVariant(experiment) : null;
    const known = shown.get(key);
    // One object while a page is rendered.
    const kept = known && isSame(known, found) ? known : found;
    shown.set(key, kept);
    return kept;
  };

  const variant = (key: string): Variant | null => {
    const found = peek(key);
    if (found) expose(found);
    return found;
  };

  const client: VisitorClient = {
    ready: within(
      project.timeoutMs,
      project.known.then(() => asking),
    ),
    get visitorId() {
      return held?.visitorId() || given.visitorId || null;
    },
    variant,
    peek,
    value: (key, fallback) => variant(key)?.payload ?? fallback,
    track: (event_name, fields) => record("custom_event", { event_name, ...fields }),
    pageview: (url) => record("pageview", {}, url),
    revenue: (revenue_cents, fields) =>
      record("conversion", { event_name: "purchase", revenue_cents, ...fields }),
    identify: (userId, attributes) =>
      whenGranted(() => {
        identify(userId, attributes, true);
        fromServer.clear();
        ask();
        changed();
      }),
    consent: (isGranted) => {
      place.consent.keep(isGranted, project.config);
      settle();
      if (!isGranted) erase();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    bootstrap: (): Bootstrap<AnyFlags> => ({
      visitorId: held?.visitorId() ?? given.visitorId ?? "",
      variants: Object.fromEntries(
        (project.config?.experiments ?? []).map((experiment) => [
          experiment.test_key,
          publicVariant(experiment),
        ]),
      ),
    }),
    rendered,
  };
  return { client, settle, end: unfollow };
};
