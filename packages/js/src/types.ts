// Types of the package's API.

/** Payloads by test key, where a project has none of its own. */
// biome-ignore lint/suspicious/noExplicitAny: what nobody has described.
export type AnyFlags = Record<string, any>;

/** A test key of the project. */
export type Key<Flags> = keyof Flags & string;

/** The variant of a visitor. */
export interface Variant<Payload = unknown> {
  /** Null where the experiment keeps the names of its variants from the public. */
  readonly name: string | null;
  /** Place among the variants, from 0. */
  readonly index: number;
  readonly isControl: boolean;
  /** Null where the variant has none, or the experiment keeps it from the public. */
  readonly payload: Payload | null;
  readonly id: string;
  readonly experimentId: string;
}

/** What is known of a visitor, for targeting, segments and units. */
export type Attributes = Record<string, unknown>;

export interface TrackFields {
  /** Of goals that measure one. */
  value?: number | undefined;
  attributes?: Attributes | undefined;
}

export interface RevenueFields {
  /** ISO 4217; the project's own where it is absent. */
  currency?: string | undefined;
  /** An order of the same id counts once. */
  transaction_id?: string | undefined;
  /** `purchase` where it is absent. */
  event_name?: string | undefined;
  kind?: "conversion" | "refund" | undefined;
}

/** What a server has decided for a page: plain JSON, for the `bootstrap` of the page's client. */
export interface Bootstrap<Flags = AnyFlags> {
  readonly visitorId: string;
  readonly variants: { readonly [Name in Key<Flags>]?: Variant<Flags[Name]> | null };
}

/** A failure that stops nothing: of the service, of an event, or of a listener. */
export interface Failure {
  readonly message: string;
  /** Of an event that the service rejects. */
  readonly event_id?: string | null;
  readonly code?: string | null;
}

export interface CommonOptions {
  /** Where the service is: `https://ab.shop.example`. */
  baseUrl: string;
  /** Longest time that `ready` waits for the service, in milliseconds. */
  timeoutMs?: number | undefined;
  /** Called back at failures; `console.warn` where it is absent. */
  onError?: ((failure: Failure) => void) | undefined;
}

/** Options of a client for one visitor. */
export interface ClientOptions<Flags = AnyFlags> extends CommonOptions {
  /** The project's public key. */
  sdkKey: string;
  /** The visitor's id: else that of the browser's cookie, or a new one. */
  visitorId?: string | undefined;
  userId?: string | null | undefined;
  attributes?: Attributes | undefined;
  /** What a server has decided for this page. */
  bootstrap?: Bootstrap<Flags> | undefined;
  /** Milliseconds after which the experiments are asked for again; 0, as a page lives briefly. */
  refreshMs?: number | undefined;
}

/** What a visitor sees, and does. */
export interface VisitorClient<Flags = AnyFlags> {
  /** Resolves once the visitor's variants are known, or `timeoutMs` is over; it never rejects. */
  readonly ready: Promise<void>;
  /** Null until it is known, and where the visitor may have none. */
  readonly visitorId: string | null;
  /** The visitor's variant, which is counted as seen; null for the original. */
  variant<Name extends Key<Flags>>(key: Name): Variant<Flags[Name]> | null;
  /** The variant without counting. */
  peek<Name extends Key<Flags>>(key: Name): Variant<Flags[Name]> | null;
  /** The payload of the visitor's variant, which is counted as seen; the fallback without one. */
  value<Name extends Key<Flags>>(key: Name, fallback: Flags[Name]): Flags[Name];
  /** Record an event. */
  track(eventName: string, fields?: TrackFields): void;
  /** Record a page view, of the page that is open unless another URL is given. */
  pageview(url?: string): void;
  /** Record an order in minor units of its currency. */
  revenue(cents: number, fields?: RevenueFields): void;
  /** Say who the visitor is: null after signing out, undefined for attributes alone. */
  identify(userId: string | null | undefined, attributes?: Attributes): void;
  /** Say whether the visitor agrees to be counted. */
  consent(isGranted: boolean): void;
  /** Call back when a variant may have changed; returns what ends it. */
  subscribe(listener: () => void): () => void;
  /** What `bootstrap` takes on the page that a server renders for the visitor. */
  bootstrap(): Bootstrap<Flags>;
  /** The variant that the server has rendered: on a page that of `bootstrap`. For hydration. */
  rendered<Name extends Key<Flags>>(key: Name): Variant<Flags[Name]> | null;
}

/** A client for one visitor. */
export interface Client<Flags = AnyFlags> extends VisitorClient<Flags> {
  /** Wait until the service has told its verdict on every event; false where it has not in time. */
  flush(timeoutMs?: number): Promise<boolean>;
  /** Send what waits, and end all work; false where events are left. */
  close(timeoutMs?: number): Promise<boolean>;
}

/** Options of a client for the visitors of a server. */
export interface NodeOptions extends CommonOptions {
  /** A key with the scope `sdk:write`; not the public one. */
  apiKey: string;
  projectId: string;
  /** Milliseconds after which the experiments are asked for again. */
  refreshMs?: number | undefined;
  /** Events of so many milliseconds share a request. */
  gatherMs?: number | undefined;
  /** Most events that wait; beyond them, they are lost and told to `onError`. */
  capacity?: number | undefined;
  /** Asks the service in place of the global `fetch`: through a proxy, or from a cache. */
  fetch?: ((address: string, init: RequestInit) => Promise<Response>) | undefined;
}

/** A visitor of a server. */
export interface NodeVisitor {
  userId?: string | null | undefined;
  /** Address of the page; without it, the pages of experiments are not checked. */
  url?: string | undefined;
  /** Variants that the visitor was given before: experiment id → variant id. */
  assigned?: Readonly<Record<string, string>> | undefined;
}

/** A client for the visitors of a server. */
export interface NodeClient<Flags = AnyFlags> {
  /** Resolves once the experiments are known, or `timeoutMs` is over; it never rejects. */
  readonly ready: Promise<void>;
  /** Number of events that wait for the service's verdict. */
  readonly unsent: number;
  /** A visitor, cheap enough to make for each request. */
  forVisitor(
    visitorId: string,
    attributes?: Attributes,
    visitor?: NodeVisitor,
  ): VisitorClient<Flags>;
  flush(timeoutMs?: number): Promise<boolean>;
  close(timeoutMs?: number): Promise<boolean>;
}
