/** Over which seeds a comparison goes unless told. */
export const DEFAULT_SEEDS: readonly number[] = [0, 1, 2];

/** The fault of a comparison's seeds, in a sentence; null when there is none. */
export function seedsProblem(seeds: readonly number[]): string | null {
  if (seeds.length === 0) return "Expected at least one seed.";
  if (new Set(seeds).size !== seeds.length) return "Expected different seeds.";
  const tooLarge = seeds.find((seed) => seed >= 2 ** 32);
  return tooLarge === undefined ? null : `${tooLarge} is too large; expected less than 2^32.`;
}
