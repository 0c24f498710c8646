// Tools that the address, or an earlier page of the tab, asks for: the preview of variants, and the debug panel.

import { session } from "./storage.js";
import { removeFromAddress } from "./visitor.js";

const DEBUG = /[?&#]truelift_debug[\w=-]*/;

export const isPreview = () =>
  location.search.includes("truelift_preview=") || session.get("preview");

/** Take what asks for the panel, with its token, off the address, before anything is told of the page. */
export const keepDebug = () => {
  const [asked] = DEBUG.exec(location.href) ?? [];
  if (asked) {
    session.set("debug", asked);
    removeFromAddress(DEBUG);
  }
};
