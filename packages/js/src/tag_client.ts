// Client over the site's own script: it decides, keeps and sends, so that nothing is assigned or counted twice.

import { readBoth } from "../../../api/sdk/browser/storage.js";
import { within } from "./config_source.js";
import { READY_MS } from "./project.js";
import type { AnyFlags, Client, ClientOptions, Variant } from "./types.js";
import { isSame } from "./variants.js";

/** What the script gives for a variant. */
interface Shown {
  id: string;
  experiment_id: string;
  index: number;
  is_control: boolean;
  name?: string;
  payload?: unknown;
}

interface Tag {
  (name: string, ...given: unknown[]): unknown;
  loaded?: boolean;
}

interface Found {
  readonly element: HTMLScriptElement | null;
  /** The script's function, or the queue of what is called before it has loaded. */
  readonly call: () => Tag | undefined;
}

/** Find the script of a project on the page; null where it is that of another one, or there is none. */
export const findTag = (sdkKey: string): Found | null => {
  const call = (): Tag | undefined => {
    const found = (window as { truelift?: unknown }).truelift;
    // Without a stub the name is that of the script's element.
    return typeof found === "function" ? (found as Tag) : undefined;
  };
  const element = document.querySelector<HTMLScriptElement>('script[src*="/sdk/v1/"]');
  const isOwn = element ? element.src.includes(`/sdk/v1/${sdkKey}.js`) : call()?.loaded;
  return isOwn ? { element, call } : null;
};

const described = (shown: Shown): Variant =>
  Object.freeze({
    name: shown.name ?? null,
    index: shown.index,
    isControl: shown.is_control,
    payload: shown.payload ?? null,
    id: shown.id,
    experimentId: shown.experiment_id,
  });

/** Make a client of the script on the page. */
export const createTagClient = (
  { element, call }: Found,
  options: ClientOptions,
): Client<AnyFlags> => {
  const listeners = new Set<() => void>();
  const answered = new Map<string, Variant | null>();
  const rendered = options.bootstrap?.variants ?? {};
  const isLoaded = (): boolean => Boolean(call()?.loaded);
  const early: [string, unknown[]][] = [];

  const changed = (): void => {
    for (const listener of [...listeners]) listener();
  };
  /** Call a function of the script: through its queue until it has loaded. */
  const tell = (name: string, ...given: unknown[]): unknown => {
    const tag = call();
    if (tag) return tag(name, ...given);
    early.push([name, given]);
    return null;
  };
  const loaded = new Promise<void>((resolve) => {
    const begin = (): void => {
      for (const [name, given] of early.splice(0)) tell(name, ...given);
      tell("on", "exposure", changed);
      resolve();
      changed();
    };
    if (isLoaded()) begin();
    else element?.addEventListener("load", begin);
  });

  const peek = (key: string): Variant | null => {
    if (!isLoaded()) return rendered[key] ?? null;
    const shown = tell("peek", key) as Shown | null;
    const found = shown && described(shown);
    const before = answered.get(key) ?? rendered[key] ?? null;
    // One object as long as nothing changes.
    const kept = isSame(before, found) ? before : found;
    answered.set(key, kept);
    return kept;
  };
  const variant = (key: string): Variant | null => {
    const found = peek(key);
    if (found) tell("variant", key);
    return found;
  };
  if (options.userId !== undefined || options.attributes)
    tell("identify", options.userId, options.attributes);

  const end = async (): Promise<boolean> => true;
  return {
    ready: within(options.timeoutMs ?? READY_MS, loaded),
    get visitorId() {
      return readBoth("visitor");
    },
    variant,
    peek,
    value: (key, fallback) => variant(key)?.payload ?? fallback,
    track: (eventName, fields) => tell("track", eventName, fields),
    // The script records those of the page itself.
    pageview: () => {},
    revenue: (cents, fields) => tell("revenue", cents, fields),
    identify: (userId, attributes) => {
      tell("identify", userId, attributes);
      changed();
    },
    consent: (isGranted) => {
      tell("consent", isGranted);
      changed();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    bootstrap: () => options.bootstrap ?? { visitorId: "", variants: {} },
    rendered: (key) => rendered[key] ?? null,
    // The script goes on, and keeps what it has for the next page.
    flush: end,
    close: end,
  };
};
