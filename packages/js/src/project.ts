// A project as a client knows it: its config, its outbox, and the connection of both.

import type { Config } from "../../../api/sdk/browser/config.js";
import { createOutbox, type Surroundings } from "../../../api/sdk/browser/outbox.js";
import { createStore } from "../../../api/sdk/browser/storage.js";
import { createConfigSource, within } from "./config_source.js";
import type { Connection } from "./connection.js";
import { createDecider, type Decider } from "./decisions.js";
import type { CommonOptions, Failure } from "./types.js";

/** The longest that `ready` takes. */
export const READY_MS = 3_000;
const CLOSE_MS = 5_000;
/** Pause after a refusal that no repetition can mend, such as that of a key. */
const REFUSED_MS = 300_000;

export type Outbox = ReturnType<typeof createOutbox>;
type Keys = Surroundings["config"];

export interface Project {
  readonly connection: Connection;
  readonly timeoutMs: number;
  readonly config: Config | null;
  readonly decider: Decider | null;
  /** Null until the project is known. */
  readonly outbox: Outbox | null;
  /** Resolve when the config is known, or the time is over. */
  whenKnown(timeoutMs: number): Promise<void>;
  fail(failure: Failure): void;
  /** Call back with each new config. */
  follow(listener: () => void): () => void;
  flush(timeoutMs?: number): Promise<boolean>;
  close(timeoutMs?: number): Promise<boolean>;
}

export interface ProjectOptions extends CommonOptions {
  refreshMs: number;
  /** Of the outbox, which is made at once where the project is known from the beginning. */
  keys: Keys | null;
  cookies: () => string;
  outbox: Pick<Surroundings, "local" | "session" | "beacon" | "gather">;
}

const newStore = () =>
  createStore(() => {
    throw new Error("there is no storage");
  });

/** Stores of an outbox without a browser. */
export const inMemory = () => ({ local: newStore(), session: newStore() });

const caller =
  (onError: CommonOptions["onError"]) =>
  (failure: Failure): void => {
    try {
      if (onError) onError(failure);
      else console.warn(`truelift: ${failure.message}`);
    } catch (error) {
      console.error(error);
    }
  };

const emptied = async (outbox: Outbox | null, timeoutMs: number): Promise<boolean> => {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const { waiting, pausedUntil } = outbox?.state() ?? { waiting: 0, pausedUntil: 0 };
    const left = deadline - Date.now();
    if (!waiting || left <= 0 || pausedUntil > deadline) return !waiting;
    const pause = pausedUntil - Date.now();
    if (pause > 0) await within(pause, new Promise(() => {}));
    await within(left, Promise.resolve(outbox?.drain()));
  }
};

/** Begin to read a project's config. */
export const createProject = (connection: Connection, options: ProjectOptions): Project => {
  const fail = caller(options.onError);
  const listeners = new Set<() => void>();
  let config: Config | null = null;
  let decider: Decider | null = null;

  const newOutbox = (keys: Keys): Outbox =>
    createOutbox({
      config: keys,
      post: (body, more) => connection.post("track", body, more),
      onResults: (results) => {
        for (const { status, event_id, code, message } of results)
          if (status === "rejected") fail({ message: message ?? "rejected", event_id, code });
      },
      refusedMs: REFUSED_MS,
      ...options.outbox,
    });
  let outbox = options.keys && newOutbox(options.keys);

  const source = createConfigSource(
    connection,
    options.refreshMs,
    (read) => {
      config = read;
      decider = createDecider(read, options.cookies);
      outbox ??= newOutbox(read);
      for (const listener of [...listeners]) listener();
    },
    (message) => fail({ message }),
  );

  return {
    connection,
    timeoutMs: options.timeoutMs ?? READY_MS,
    get config() {
      return config;
    },
    get decider() {
      return decider;
    },
    get outbox() {
      return outbox;
    },
    whenKnown: (timeoutMs) =>
      new Promise((resolve) => {
        if (config) {
          resolve();
          return;
        }
        // Called off in the end: visitors of a server would pile up while the service is away.
        const end = (): void => {
          clearTimeout(limit);
          listeners.delete(end);
          resolve();
        };
        const limit = setTimeout(end, timeoutMs);
        listeners.add(end);
      }),
    fail,
    follow: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    flush: (timeoutMs = CLOSE_MS) => emptied(outbox, timeoutMs),
    close: async (timeoutMs = CLOSE_MS) => {
      source.close();
      return emptied(outbox, timeoutMs);
    },
  };
};
