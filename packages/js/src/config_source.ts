// The config of a project: asked for at once, again after failures, and again and again where a process lives long.

import type { Config } from "../../../api/sdk/browser/config.js";
import { TIMEOUT_MS } from "../../../api/sdk/browser/event_order.js";
import {
  FIRST_WAIT_MS,
  LONGEST_PAUSE_MS,
  LONGEST_WAIT_MS,
} from "../../../api/sdk/browser/outbox.js";
import type { Connection } from "./connection.js";

export interface ConfigSource {
  close(): void;
}

/** Read the config, and call back with each that differs from the one before. */
export const createConfigSource = (
  connection: Connection,
  refreshMs: number,
  onConfig: (config: Config) => void,
  onFailure: (message: string) => void,
): ConfigSource => {
  let etag: string | null = null;
  let text = "";
  let failures = 0;
  let lastReason = "";
  let isClosed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let abort = new AbortController();

  const plan = (ms: number): void => {
    if (isClosed) return;
    timer = setTimeout(read, ms);
    // A process that has ended its work need not wait for it.
    (timer as { unref?: () => void }).unref?.();
  };

  const take = async (answer: Response): Promise<void> => {
    const received = await answer.text();
    if (received !== text) {
      const config: Config = JSON.parse(received);
      if (!Array.isArray(config.experiments)) throw new Error("the answer is no configuration");
      config.experiments.push(...(config.rollouts ?? []));
      connection.follow(config);
      onConfig(config);
      text = received;
    }
    etag = answer.headers.get("ETag");
  };

  const fail = (reason: string, retryAfter: string | null): void => {
    if (!isClosed && reason !== lastReason) onFailure(`the experiments cannot be read: ${reason}`);
    lastReason = reason;
    const seconds = Number(retryAfter);
    const longest = Math.min(FIRST_WAIT_MS * 2 ** failures++, LONGEST_WAIT_MS);
    plan(
      seconds > 0
        ? Math.min(seconds * 1000, LONGEST_PAUSE_MS)
        : longest * (0.5 + Math.random() / 2),
    );
  };

  const read = async (): Promise<void> => {
    abort = new AbortController();
    const limit = setTimeout(() => abort.abort(), TIMEOUT_MS);
    let retryAfter: string | null = null;
    try {
      const answer = await connection.config(etag, abort.signal);
      if (answer.status !== 304) {
        retryAfter = answer.headers.get("Retry-After");
        if (!answer.ok) throw new Error(`${answer.status}`);
        await take(answer);
      }
      failures = 0;
      lastReason = "";
      if (refreshMs) plan(refreshMs);
    } catch (error) {
      fail(`${error instanceof Error ? error.message : error}`, retryAfter);
    } finally {
      clearTimeout(limit);
    }
  };

  read();
  return {
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      abort.abort();
    },
  };
};

/** Resolve once something has happened, or the time is over. */
export const within = async (ms: number, happened: Promise<unknown>): Promise<void> => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([happened, limit]);
  clearTimeout(timer);
};
