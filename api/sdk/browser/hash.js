// MurmurHash3 (x86, 32 bits, seed 0) of a text in UTF-8.

/** @type {(value: number, bits: number) => number} */
const rotate = (value, bits) => (value << bits) | (value >>> (32 - bits));

/** @type {(block: number) => number} */
const mixed = (block) => Math.imul(rotate(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593);

/**
 * Hash a text.
 *
 * @param {string} text
 * @returns {number} below 2^32
 */
export const murmur3 = (text) => {
  const bytes = new TextEncoder().encode(text);
  const { length } = bytes;
  const end = length & ~3;
  /** @type {(index: number) => number} */
  const at = (index) => bytes[index] ?? 0;
  let hash = 0;
  for (let index = 0; index < end; index += 4) {
    const block = at(index) | (at(index + 1) << 8) | (at(index + 2) << 16) | (at(index + 3) << 24);
    hash = (Math.imul(rotate(hash ^ mixed(block), 13), 5) + 0xe6546b64) | 0;
  }
  if (length > end) hash ^= mixed(at(end) | (at(end + 1) << 8) | (at(end + 2) << 16));
  hash ^= length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
};

/**
 * The hash of a unit in an experiment, for the traffic or for the variant, or in a group of experiments.
 *
 * @param {{ salt: string, bucketing_version: number }} experiment or group
 * @param {"t" | "v" | "g"} role
 * @param {string} unit id
 */
export const unitHash = ({ salt, bucketing_version }, role, unit) =>
  murmur3(`${role}:${salt}:${bucketing_version}:${unit}`);
