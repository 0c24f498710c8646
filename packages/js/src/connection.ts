// Connection to the service, by the public key of a page or the API key of a server.

import type { Config } from "../../../api/sdk/browser/config.js";

export interface Connection {
  /** Ask for the config; `etag` is that of the answer before. */
  config(etag: string | null, signal: AbortSignal): Promise<Response>;
  post(name: string, body: string, more?: RequestInit): Promise<Response>;
  address(name: string): string;
  /** Take what the config says of requests. */
  follow(config: Config): void;
}

export type Fetch = (address: string, init: RequestInit) => Promise<Response>;

const api = (baseUrl: string): string => `${baseUrl.replace(/\/+$/, "")}/api/v1/sdk/`;

const connection = (
  address: (name: string) => string,
  headers: Record<string, string>,
  sendsEtag: boolean,
  follow: (config: Config) => void,
  request?: Fetch,
): Connection => ({
  address,
  follow,
  config: (etag, signal) =>
    (request ?? fetch)(address("config"), {
      headers: { ...headers, ...(sendsEtag && etag ? { "If-None-Match": etag } : {}) },
      credentials: "omit",
      signal,
    }),
  // A type that needs no preflight.
  post: (name, body, more) =>
    (request ?? fetch)(address(name), {
      method: "POST",
      body,
      headers: { ...headers, "Content-Type": "text/plain" },
      credentials: "omit",
      ...more,
    }),
});

/** Connect by a project's public key. */
export const publicConnection = (baseUrl: string, sdkKey: string): Connection => {
  let consent = "";
  return connection(
    (name) => `${api(baseUrl)}${name}?key=${encodeURIComponent(sdkKey)}${consent}`,
    {},
    // A browser asks its cache; the header would cost a preflight.
    typeof document === "undefined",
    ({ settings }) => {
      if (settings.require_consent) consent = "&consent=granted";
    },
  );
};

/** Connect by an API key. */
export const secretConnection = (
  baseUrl: string,
  apiKey: string,
  projectId: string,
  request?: Fetch,
): Connection =>
  connection(
    (name) => `${api(baseUrl)}${name}?project_id=${encodeURIComponent(projectId)}`,
    { Authorization: `Bearer ${apiKey}` },
    true,
    () => {},
    request,
  );
