// Recorder of a client's visitor: events that wait for the consent, and then in the outbox.

import { now, timestamp } from "../../../api/sdk/browser/clock.js";
import { newId } from "../../../api/sdk/browser/ids.js";
import type { Variant } from "./types.js";
import type { VisitorDecisions } from "./visitor_decisions.js";
import { experimentOf, type VisitorState } from "./visitor_state.js";

const LONGEST_URL = 2_048;
/** Actions that wait for the consent. */
const MOST_PENDING = 1_000;

export interface Recorder {
  /** Act once the visitor agrees, and never if not. */
  whenGranted(action: () => void): void;
  record(type: string, fields: Record<string, unknown>, url?: string): void;
  expose(variant: Variant): void;
  /** Do what has waited for the consent, or forget it. */
  settle(): void;
  fail(error: unknown): void;
}

/** Give what records the events of a visitor. */
export const createRecorder = (
  state: VisitorState,
  { decide }: Pick<VisitorDecisions, "decide">,
): Recorder => {
  const { project, place } = state;
  let pending: (() => void)[] = [];
  const pendingExposures = new Set<string>();

  const whenGranted = (action: () => void): void => {
    if (state.consent === "granted") action();
    else if (state.consent === "pending" && pending.length < MOST_PENDING) pending.push(action);
  };
  const fail = (error: unknown): void =>
    project.fail({ message: `${error instanceof Error ? error.message : error}` });

  const isRefused = (): boolean => {
    const refusal = place.refusal();
    if (refusal) fail(`an event is lost: ${refusal}`);
    return refusal !== null;
  };

  const keep = (event: Record<string, unknown>): void => {
    if (isRefused()) return;
    const user_id = state.held?.userId();
    const ids = { visitor_id: state.held?.visitorId(), ...(user_id ? { user_id } : {}) };
    try {
      project.outbox?.keep({ ...event, ...ids });
    } catch (error) {
      fail(error);
    }
  };

  const record = (type: string, fields: Record<string, unknown>, url = place.url()): void => {
    const event = {
      event_id: newId(),
      type,
      timestamp: timestamp(now()),
      ...(url ? { url: url.slice(0, LONGEST_URL) } : {}),
      ...fields,
    };
    whenGranted(() => place.whenActive(() => keep(event)));
  };

  const expose = (variant: Variant): void => {
    const { id, experimentId } = variant;
    if (state.consent === "pending") {
      if (pendingExposures.has(id)) return;
      pendingExposures.add(id);
      whenGranted(() => expose(variant));
      return;
    }
    const { held } = state;
    const experiment = experimentOf(state, experimentId);
    if (!held || !experiment) return;
    const { unit, place: at } = decide(experiment, held);
    const key = `${held.visitorId()} ${at} ${id}`;
    if (unit === null || place.exposed.has(key)) return;
    place.whenActive(() => held.keepVariant(at, unit, id));
    // One that is refused may be taken the next time.
    if (isRefused()) return;
    place.exposed.add(key);
    const attributes = held.attributes();
    record("exposure", { experiment_id: experimentId, variant_id: id, attributes });
  };

  return {
    whenGranted,
    record,
    expose,
    settle: () => {
      const waiting = state.consent === "granted" ? pending : [];
      pending = [];
      pendingExposures.clear();
      for (const action of waiting) action();
    },
    fail,
  };
};
