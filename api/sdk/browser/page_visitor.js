// The visitor of the page that the script is on.

import { createVisitor } from "./visitor.js";

export const {
  visitorId,
  userId,
  customDimensions,
  visitorType,
  recallVisitor,
  tidyAddress,
  keepVisitor,
  setUser,
  storedVariant,
  keepVariant,
  forgetVisitor,
  handOver,
} = createVisitor(CONFIG);
