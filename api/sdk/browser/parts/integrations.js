// Part: Google Analytics 4 and Tag Manager.

import { reportExperience, reportReferrer, watchDataLayer } from "../integrations.js";

Object.assign(PARTS, { reportExperience, reportReferrer, watchDataLayer });
