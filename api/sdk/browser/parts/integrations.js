// Part: Google Analytics 4 and Tag Manager.

import {
  forgetExperiences,
  reportExperience,
  reportReferrer,
  watchDataLayer,
} from "../integrations.js";

Object.assign(PARTS, { forgetExperiences, reportExperience, reportReferrer, watchDataLayer });
