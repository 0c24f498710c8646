// A client for the visitors of a server: no cookies, one connection, and batches of events.

import { secretConnection } from "./connection.js";
import { memoryConsent } from "./held_consent.js";
import { memoryVisitor } from "./held_visitor.js";
import { createProject, inMemory } from "./project.js";
import { createRecent } from "./recent.js";
import type { AnyFlags, NodeClient, NodeOptions, VisitorClient } from "./types.js";
import { createVisitorClient } from "./visitor_client.js";
import type { Place } from "./visitor_state.js";

export type * from "./types.js";

const REFRESH_MS = 30_000;
const GATHER_MS = 500;
const CAPACITY = 10_000;
/** Beyond this many variants or exposures, the process forgets those of longest ago. */
const MOST_RECENT = 100_000;

/** Make a client, one for a process. */
export const createClient = <Flags = AnyFlags>(options: NodeOptions): NodeClient<Flags> => {
  const { gatherMs = GATHER_MS, capacity = CAPACITY } = options;
  const { baseUrl, apiKey, projectId } = options;
  const connection = secretConnection(baseUrl, apiKey, projectId, options.fetch);
  const project = createProject(connection, {
    ...options,
    refreshMs: options.refreshMs ?? REFRESH_MS,
    keys: { project_id: projectId, sdk_key: apiKey },
    cookies: () => "",
    outbox: {
      ...inMemory(),
      beacon: () => false,
      gather: (send) => setTimeout(send, gatherMs),
    },
  });
  const assigned = createRecent<string>(MOST_RECENT);
  const recorded = createRecent<true>(MOST_RECENT);
  const exposed: Place["exposed"] = {
    has: (key) => recorded.get(key) ?? false,
    add: (key) => recorded.set(key, true),
  };
  let isClosed = false;
  const unsent = (): number => project.outbox?.state().waiting ?? 0;
  const refusal = (): string | null =>
    isClosed ? "the client is closed" : unsent() < capacity ? null : `${capacity} wait already`;

  return {
    ready: project.whenKnown(project.timeoutMs),
    get unsent() {
      return unsent();
    },
    forVisitor: (visitorId, attributes, visitor = {}) => {
      const { client } = createVisitorClient(
        project,
        {
          url: () => visitor.url ?? "",
          isServer: true,
          isBrief: true,
          forced: {},
          consent: memoryConsent(() => true),
          recall: () => memoryVisitor(visitorId, assigned),
          whenActive: (callback) => callback(),
          exposed,
          refusal,
          discard: () => {},
        },
        {
          visitorId,
          userId: visitor.userId,
          attributes,
          assigned: visitor.assigned,
          bootstrap: undefined,
        },
      );
      return client as VisitorClient<Flags>;
    },
    flush: project.flush,
    close: (timeoutMs) => {
      const closing = project.close(timeoutMs);
      isClosed = true;
      return closing;
    },
  };
};
