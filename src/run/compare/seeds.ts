/** Over which seeds a comparison goes unless told. */
export const DEFAULT_SEEDS: readonly number[] = [0, 1, 2];

/**
 * Reads --seeds: `12` for how many, from 0 on; `4,7` for which ones; `4,` for one alone.
 *
 * @returns null for anything else
 */
export function parseSeeds(text: string): readonly number[] | null {
  const whole = (part: string) => /^\d{1,15}$/.test(part.trim()) ? Number(part) : null;
  if (!text.includes(",")) {
    const count = whole(text);
    if (count === null || count > 1000) return null;
    return Array.from({ length: count }, (_, seed) => seed);
  }
  const parts = text.replace(/,\s*$/, "").split(",").map(whole);
  return parts.includes(null) ? null : parts.filter((part) => part !== null);
}

/** Writes seeds as `parseSeeds` reads them. */
export function seedsOption(seeds: readonly number[]): string {
  return seeds.join(",") + (seeds.length === 1 ? "," : "");
}

/** The fault of a comparison's seeds, in a sentence; null when there is none. */
export function seedsProblem(seeds: readonly number[]): string | null {
  if (seeds.length === 0) return "Expected at least one seed.";
  if (new Set(seeds).size !== seeds.length) return "Expected different seeds.";
  const tooLarge = seeds.find((seed) => seed >= 2 ** 32);
  return tooLarge === undefined ? null : `${tooLarge} is too large; expected less than 2^32.`;
}
