// Part: Google Analytics 4 and Tag Manager.

import { reportExperience, watchDataLayer } from "../integrations.js";

Object.assign(PARTS, { reportExperience, watchDataLayer });
