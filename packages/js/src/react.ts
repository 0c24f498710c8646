// React: variants as values of components, exposed once they are shown.

import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useSyncExternalStore,
} from "react";
import type { AnyFlags, Key, Variant, VisitorClient } from "./types.js";

const Context = createContext<VisitorClient | null>(null);

export interface TrueliftProviderProps<Flags = AnyFlags> {
  client: VisitorClient<Flags>;
  children?: ReactNode;
}

/** Give a client to the components within. */
export const TrueliftProvider = <Flags = AnyFlags>({
  client,
  children,
}: TrueliftProviderProps<Flags>): ReactElement =>
  createElement(Context.Provider, { value: client as unknown as VisitorClient }, children);

/** The client that is given. */
export const useTruelift = <Flags = AnyFlags>(): VisitorClient<Flags> => {
  const client = useContext(Context);
  if (!client) throw new Error("useTruelift and useVariant need a TrueliftProvider around them");
  return client as unknown as VisitorClient<Flags>;
};

/** The visitor's variant, counted as seen once the component is on the page; null for the original. */
export const useVariant = <Payload = unknown>(key: string): Variant<Payload> | null => {
  const client = useTruelift();
  const variant = useSyncExternalStore(
    client.subscribe,
    () => client.peek(key),
    () => client.rendered(key),
  );
  useEffect(() => {
    if (variant) client.variant(key);
  }, [client, key, variant]);
  return variant as Variant<Payload> | null;
};

/** The same with the types of a project: test keys that it does not have are errors. */
export interface Hooks<Flags> {
  TrueliftProvider(props: TrueliftProviderProps<Flags>): ReactElement;
  useTruelift(): VisitorClient<Flags>;
  useVariant<Name extends Key<Flags>>(key: Name): Variant<Flags[Name]> | null;
}

/** Type the hooks by a project's flags. */
export const createHooks = <Flags>(): Hooks<Flags> =>
  ({ TrueliftProvider, useTruelift, useVariant }) as unknown as Hooks<Flags>;
