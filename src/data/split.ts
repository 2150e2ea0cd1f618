/** The parts of a set of problems: to train on, to choose among weights by, and to report. */
export type Split = "train" | "validation" | "test";

/** Shares of all texts that are left for validation, and for the test. */
const VALIDATION_SHARE = 0.1, TEST_SHARE = 0.1;

/**
 * The part that a text belongs to. Only the text decides: whatever seed, number of problems or kind of
 * training, none of them sees what another holds out. About a tenth of all texts are for validation and
 * a tenth for the test.
 */
export function splitOf(text: string): Split {
  const place = hash(text) / 2 ** 32;
  if (place < TEST_SHARE) return "test";
  return place < TEST_SHARE + VALIDATION_SHARE ? "validation" : "train";
}

/** FNV-1a of the text in UTF-8, mixed by MurmurHash3's finaliser: 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    value = Math.imul(value ^ byte, 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
