// Consent of a consent platform: Google consent mode or the IAB's TCF, whichever the project's settings name.

import { followConsentMode } from "./consent_mode.js";

/** @typedef {import("./consent_mode.js").Answer} Answer */
/** @typedef {(answer: Answer) => void} Tell */
/** @typedef {{ eventStatus?: string, gdprApplies?: boolean, purpose?: { consents?: Record<string, boolean> } }} TcData */

// A platform may load after this script, or put a queue of its own in place of the page's.
const LOOK_AGAIN_MS = 500;
// By the IAB's list: to store on a device, and to measure content performance.
const PURPOSES = ["1", "8"];

/** @type {(look: () => boolean) => void} */
const lookUntil = (look) => {
  if (!look()) setTimeout(lookUntil, LOOK_AGAIN_MS, look);
};

/** @type {(tell: Tell) => void} */
const watchConsentMode = (tell) => {
  /** @type {Answer | undefined} */
  let told;
  const { answer, look } = followConsentMode(() =>
    // Once for all that a task says: a granting default may be followed by those of regions.
    queueMicrotask(() => {
      const now = answer();
      // What has been granted is only taken back by a denial.
      const next = told === "granted" && now === "pending" ? "denied" : now;
      if (next && next !== told) {
        told = next;
        tell(next);
      }
    }),
  );
  lookUntil(() => {
    look();
    return told === "granted" || told === "denied";
  });
};

/** @type {(tell: Tell) => void} */
const watchTcf = (tell) => {
  lookUntil(() => {
    const { __tcfapi } = /** @type {any} */ (window);
    if (typeof __tcfapi !== "function") return false;
    __tcfapi(
      "addEventListener",
      2,
      (/** @type {TcData} */ data, /** @type {boolean} */ isValid) => {
        // The dialog is shown: the visitor has not answered yet, or changes an answer.
        if (!isValid || data.eventStatus === "cmpuishown") return;
        const consents = Object(data.purpose?.consents);
        const isGranted = data.gdprApplies === false || PURPOSES.every((one) => consents[one]);
        tell(isGranted ? "granted" : "denied");
      },
    );
    return true;
  });
};

/**
 * Tell what the visitor has answered, now and whenever that changes; a platform that fails has no answer.
 *
 * @param {import("./config.js").Settings} settings
 * @param {Tell} tell
 */
export const watchConsent = ({ consent_source }, tell) => {
  try {
    (consent_source === "tcf" ? watchTcf : watchConsentMode)(tell);
  } catch (error) {
    console.error(error);
  }
};
