// Cookies of the page, as text.

/** The page's cookies; none in a frame that may have none, where the browser throws. */
export const cookies = () => {
  try {
    return document.cookie;
  } catch {
    return "";
  }
};
