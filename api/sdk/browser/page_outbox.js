// Outbox of the page that the script is on.

import { tell } from "./notices.js";
import { createOutbox } from "./outbox.js";
import { post, trackAddress } from "./script.js";
import { local, session } from "./storage.js";

export const { open, discard, keep, sendByBeacon } = createOutbox({
  config: CONFIG,
  local,
  session,
  post: async (body, more) => {
    const answer = await post("track", body, more);
    if (session.get("debug")) tell("answer", [body, answer.clone()]);
    return answer;
  },
  beacon: (body) => navigator.sendBeacon?.(trackAddress, body),
  gather: queueMicrotask,
  // Another key is that of another page.
  refusedMs: Number.POSITIVE_INFINITY,
});
