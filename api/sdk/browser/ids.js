// Ids: random ones of visitors and events, and the letters of an id that a cookie has room for.

/** A random UUID, also where crypto.randomUUID is not: on pages without HTTPS. */
export const newId = () => {
  const random = crypto.getRandomValues(new Uint8Array(36));
  return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit, at) =>
    (+digit ^ ((random[at] ?? 0) & (15 >> (+digit / 4)))).toString(16),
  );
};

/** @type {(id: string) => string} */
export const short = (id) => id.slice(-6);
