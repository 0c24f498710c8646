// Part: consent that a consent platform asks for.

import { watchConsent } from "../consent_source.js";

PARTS.watchConsent = (tell) => watchConsent(CONFIG.settings, tell);
