// A client for one visitor: of a page, or of a worker or process that has no page.

import { cookies } from "../../../api/sdk/browser/cookies.js";
import { forcedVariants } from "../../../api/sdk/browser/forced_variants.js";
import { newId } from "../../../api/sdk/browser/ids.js";
import { onHidden, onRestored, whenActive } from "../../../api/sdk/browser/lifetime.js";
import { local, session } from "../../../api/sdk/browser/storage.js";
import { publicConnection } from "./connection.js";
import { browserConsent, memoryConsent } from "./held_consent.js";
import { browserVisitor, isCookieId, memoryVisitor } from "./held_visitor.js";
import { createProject, inMemory, type Project } from "./project.js";
import { createTagClient, findTag } from "./tag_client.js";
import type { AnyFlags, Bootstrap, Client, ClientOptions } from "./types.js";
import { createVisitorClient } from "./visitor_client.js";
import type { Place } from "./visitor_state.js";

export type * from "./types.js";

const openProject = (options: ClientOptions, isPage: boolean): Project => {
  const connection = publicConnection(options.baseUrl, options.sdkKey);
  return createProject(connection, {
    ...options,
    refreshMs: options.refreshMs ?? 0,
    keys: null,
    cookies: isPage ? cookies : () => "",
    outbox: {
      ...(isPage ? { local, session } : inMemory()),
      beacon: (body) => isPage && navigator.sendBeacon?.(connection.address("track"), body),
      gather: queueMicrotask,
    },
  });
};

const placeOf = (project: Project, isPage: boolean, id: string | undefined): Place => {
  const assigned = new Map<string, string>();
  const own = id ?? newId();
  const forced = isPage ? forcedVariants() : {};
  return {
    url: () => (isPage ? location.href : ""),
    isServer: !isPage,
    isBrief: false,
    forced,
    consent: isPage
      ? browserConsent(Object.keys(forced).length > 0)
      : memoryConsent((config) => (config && !config.settings.require_consent) || undefined),
    recall: (config) =>
      isPage && config && isCookieId(id)
        ? browserVisitor(config, id)
        : memoryVisitor(own, assigned),
    whenActive: isPage ? whenActive : (callback) => callback(),
    exposed: new Set(),
    refusal: () => null,
    discard: () => project.outbox?.discard(),
  };
};

/** Make a client; where the site's own script is on the page, it decides and sends for the client. */
export const createClient = <Flags = AnyFlags>(options: ClientOptions<Flags>): Client<Flags> => {
  const isPage = typeof document !== "undefined";
  const tag = isPage ? findTag(options.sdkKey) : null;
  const bootstrap = options.bootstrap as Bootstrap | undefined;
  if (tag) return createTagClient(tag, { ...options, bootstrap }) as Client<Flags>;
  const project = openProject({ ...options, bootstrap }, isPage);
  const visitorId = options.visitorId ?? bootstrap?.visitorId;
  const { client, settle, end } = createVisitorClient(
    project,
    placeOf(project, isPage, visitorId),
    {
      visitorId,
      userId: options.userId,
      attributes: options.attributes,
      assigned: undefined,
      bootstrap,
    },
  );
  if (isPage) {
    onHidden(() => project.outbox?.sendByBeacon());
    onRestored(settle);
  }
  return Object.assign(client, {
    flush: project.flush,
    close: (timeoutMs?: number) => {
      end();
      return project.close(timeoutMs);
    },
  }) as Client<Flags>;
};
