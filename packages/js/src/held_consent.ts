// Consent of a client's visitor: as a browser has it, or as the caller says.

import type { Config } from "../../../api/sdk/browser/config.js";
import { type Consent, keepConsent, readConsent } from "../../../api/sdk/browser/consent.js";
import { watchConsent } from "../../../api/sdk/browser/consent_source.js";

export type { Consent };

export interface HeldConsent {
  /** Pending until the config tells what is required; a consent platform may answer later. */
  read(config: Config | null, onAnswer: () => void): Consent;
  keep(isGranted: boolean, config: Config | null): void;
}

/** The consent that a browser holds, the signals that it sends, and what a consent platform says. */
export const browserConsent = (isPreview: boolean): HeldConsent => {
  let said: boolean | undefined;
  let answer: Consent | undefined;
  let isWatching = false;
  return {
    read: (config, onAnswer) => {
      if (!config) return said === false ? "denied" : "pending";
      if (said !== undefined) keepConsent(said, config.settings);
      said = undefined;
      if (config.settings.consent_source && !isWatching) {
        isWatching = true;
        watchConsent(config.settings, (told) => {
          answer = told;
          onAnswer();
        });
      }
      return readConsent(config, isPreview, answer);
    },
    keep: (isGranted) => {
      said = isGranted;
    },
  };
};

/** The consent of a visitor in memory. */
export const memoryConsent = (
  isGiven: (config: Config | null) => boolean | undefined,
): HeldConsent => {
  let said: boolean | undefined;
  return {
    read: (config) => {
      const isGranted = said ?? isGiven(config);
      return isGranted === undefined ? "pending" : isGranted ? "granted" : "denied";
    },
    keep: (isGranted) => {
      said = isGranted;
    },
  };
};
