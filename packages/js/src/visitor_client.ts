// Client of one visitor: variants, exposures and events.

import { within } from "./config_source.js";
import type { Project } from "./project.js";
import { createRecorder } from "./recorder.js";
import type { AnyFlags, Attributes, Bootstrap, Variant, VisitorClient } from "./types.js";
import { isSame } from "./variants.js";
import { createVisitorDecisions } from "./visitor_decisions.js";
import { experimentOf, type Given, type Place, type VisitorState } from "./visitor_state.js";

/** Make the client of a visitor; `end` ends what it listens to. */
export const createVisitorClient = (
  project: Project,
  place: Place,
  given: Given,
): { client: VisitorClient; settle: () => void; end: () => void } => {
  const state: VisitorState = {
    project,
    place,
    given,
    consent: "pending",
    held: null,
    ofServer: given.bootstrap?.variants ?? {},
  };
  const listeners = new Set<() => void>();
  /** What was answered by now, so that one state of the client has one object for a variant. */
  const answered = new Map<string, Variant | null>();
  const rendered = new Map<string, Variant | null>();
  let answeredFor = place.url();
  let answeredBy = project.config;
  let ready: Promise<void> | undefined;

  const changed = (): void => {
    answered.clear();
    for (const listener of [...listeners]) {
      try {
        listener();
      } catch (error) {
        recorder.fail(error);
      }
    }
  };
  const decisions = createVisitorDecisions(state, changed);
  const recorder = createRecorder(state, decisions);
  const { record, whenGranted } = recorder;

  const peek = (key: string): Variant | null => {
    if (answeredFor !== place.url() || answeredBy !== project.config) {
      answered.clear();
      if (answeredFor !== place.url()) decisions.forget(true);
      answeredFor = place.url();
      answeredBy = project.config;
      decisions.ask();
    }
    let found = answered.get(key);
    if (found === undefined) {
      found = decisions.answer(key);
      // A server's own object, as long as it says the same.
      if (isSame(state.ofServer[key], found)) found = state.ofServer[key] ?? null;
      answered.set(key, found);
    }
    return found;
  };

  const variant = (key: string): Variant | null => {
    const found = peek(key);
    if (found) recorder.expose(found);
    return found;
  };

  /** What pages are rendered with: what `bootstrap` tells their client, so that this renders the same. */
  const renderedBy = (key: string): Variant | null => {
    if (!place.isServer || given.bootstrap) return given.bootstrap?.variants[key] ?? null;
    const experiment = experimentOf(state, key);
    const found = experiment ? decisions.publicVariant(experiment) : null;
    const known = rendered.get(key);
    // One object while a page is rendered.
    const kept = known && isSame(known, found) ? known : found;
    rendered.set(key, kept);
    return kept;
  };

  const identify = (userId: string | null | undefined, attributes: Attributes | undefined) => {
    try {
      state.held?.identify(userId, attributes);
      return true;
    } catch (error) {
      recorder.fail(error);
      return false;
    }
  };

  const begin = (): void => {
    state.held = place.recall(project.config);
    if (given.userId !== undefined || given.attributes) identify(given.userId, given.attributes);
    place.whenActive(() => project.outbox?.open());
  };

  const erase = (): void => {
    place.discard();
    state.held?.forget();
    state.held = null;
    state.ofServer = {};
    decisions.forget(false);
    changed();
  };

  const settle = (): void => {
    const before = state.consent;
    state.consent = place.consent.read(project.config, settle);
    if (state.consent === "granted" && (before !== "granted" || !state.held)) begin();
    if (state.consent !== "pending") recorder.settle();
    if (state.consent === "denied" && before === "granted") erase();
    decisions.ask();
    changed();
  };

  settle();
  const end = place.isBrief ? () => {} : project.follow(settle);

  const becomeReady = async (): Promise<void> => {
    const deadline = Date.now() + project.timeoutMs;
    await project.whenKnown(project.timeoutMs);
    decisions.ask();
    await within(Math.max(0, deadline - Date.now()), decisions.asked());
  };

  const client: VisitorClient = {
    get ready() {
      ready ??= becomeReady();
      return ready;
    },
    get visitorId() {
      return state.held?.visitorId() || given.visitorId || null;
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
        if (identify(userId, attributes) && userId) record("identify", { attributes });
        decisions.forget(false);
        decisions.ask();
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
      visitorId: state.held?.visitorId() ?? given.visitorId ?? "",
      variants: Object.fromEntries(
        (project.config?.experiments ?? []).map((experiment) => [
          experiment.test_key,
          decisions.publicVariant(experiment),
        ]),
      ),
    }),
    rendered: renderedBy,
  };
  return { client, settle, end };
};
