// Values that were set last, up to a number of them.

export interface Recent<Value> {
  get(key: string): Value | undefined;
  /** Keep a value, and return true. */
  set(key: string, value: Value): true;
}

/** Keep at most so many values. */
export const createRecent = <Value>(most: number): Recent<Value> => {
  const kept = new Map<string, Value>();
  return {
    get: (key) => kept.get(key),
    set: (key, value) => {
      kept.delete(key);
      kept.set(key, value);
      for (const oldest of kept.keys()) {
        if (kept.size <= most) break;
        kept.delete(oldest);
      }
      return true;
    },
  };
};
