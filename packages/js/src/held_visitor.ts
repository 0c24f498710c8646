// The visitor of a client: the one of a browser, with its cookies, or one that is held in memory.

import type { Config, Variant } from "../../../api/sdk/browser/config.js";
import { whenActive } from "../../../api/sdk/browser/lifetime.js";
import { referrer } from "../../../api/sdk/browser/referrer.js";
import { readBoth, session, writeBoth } from "../../../api/sdk/browser/storage.js";
import { newVisitorIn } from "../../../api/sdk/browser/unsettled.js";
import { createVisitor, mergedAttributes } from "../../../api/sdk/browser/visitor.js";
import type { Attributes } from "./types.js";

export interface HeldVisitor {
  visitorId(): string;
  userId(): string | null;
  /** Whether the visitor came first in this session, so that no variant is known from before. */
  isNew(): boolean;
  /** What targeting and segments take of the visitor. */
  attributes(): Attributes;
  identify(userId: string | null | undefined, attributes: Attributes | undefined): void;
  /** Id of the variant that was given first. */
  storedVariant(place: string, unit: string, variants: readonly Variant[]): string | undefined;
  keepVariant(place: string, unit: string, variantId: string): void;
  /** Erase what identifies the visitor. */
  forget(): void;
}

/** What a browser's cookie has room for. */
const COOKIE_ID = /^[\w-]{8,64}$/;

/** Whether an id can be that of the browser. */
export const isCookieId = (id: string | undefined): boolean =>
  id === undefined || COOKIE_ID.test(id);

/** Take the visitor of this browser, who has agreed; `id` makes it another one. */
export const browserVisitor = (config: Config, id: string | undefined): HeldVisitor => {
  const { cookie_domain } = config.settings;
  if (id !== undefined && readBoth("visitor") !== id) {
    writeBoth("assigned", "", cookie_domain);
    writeBoth("visitor", id, cookie_domain);
  }
  // Before the address is tidied.
  const isNew = newVisitorIn(session);
  const visitor = createVisitor(config);
  visitor.recallVisitor();
  whenActive(() => {
    visitor.keepVisitor();
    visitor.tidyAddress();
  });
  return {
    visitorId: visitor.visitorId,
    userId: visitor.userId,
    isNew,
    attributes: () => ({
      visitor_type: visitor.visitorType(),
      referrer: referrer(),
      language: navigator.language,
      ...visitor.customDimensions(),
    }),
    identify: visitor.setUser,
    storedVariant: (place, _, variants) => visitor.storedVariant(place, [...variants]),
    keepVariant: (place, _, variantId) => visitor.keepVariant(place, variantId),
    forget: visitor.forgetVisitor,
  };
};

/** First variants by place and unit; all visitors of a server share them. */
export interface Assignments {
  get(place: string): string | undefined;
  set(place: string, variantId: string): unknown;
}

/** Hold a visitor in memory. */
export const memoryVisitor = (id: string, assignments: Assignments): HeldVisitor => {
  let user: string | null = null;
  let known: Attributes = {};
  return {
    visitorId: () => id,
    userId: () => user,
    isNew: () => false,
    attributes: () => known,
    identify: (userId, attributes) => {
      if (userId !== undefined) {
        const before = user;
        user = userId && `${userId}`;
        if (before && before !== user) known = {};
      }
      known = mergedAttributes(known, attributes);
    },
    storedVariant: (place, unit, variants) => {
      const stored = assignments.get(`${place} ${unit}`);
      return variants.some((variant) => variant.id === stored) ? stored : undefined;
    },
    keepVariant: (place, unit, variantId) => assignments.set(`${place} ${unit}`, variantId),
    forget: () => {},
  };
};
