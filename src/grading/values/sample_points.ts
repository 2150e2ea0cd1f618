/** A point at which formulas are compared. */
export interface SamplePoint {
  /** A value for each variable. */
  readonly at: Readonly<Record<string, number>>;
  readonly isPositive: boolean;
}

const POSITIVE_POINTS = 3;
const NEGATIVE_POINTS = 2;

/**
 * Points with no relation to any formula: five-digit fractions from the golden ratio's multiples, in
 * (0.2, 2.7), at two of them with alternating signs.
 */
export function samplePoints(names: readonly string[]): SamplePoint[] {
  return Array.from({ length: POSITIVE_POINTS + NEGATIVE_POINTS }, (_, p) => {
    const isPositive = p < POSITIVE_POINTS;
    const at = names.map((name, k) => {
      const turn = ((p * names.length + k + 1) * 0.6180339887) % 1;
      const size = Number((0.2 + 2.5 * turn).toFixed(5));
      return [name, isPositive || k % 2 === 1 ? size : -size] as const;
    });
    return { at: Object.fromEntries(at), isPositive };
  });
}

/** Points of whole numbers, for formulas such as `n!` that have values only there. */
export function wholePoints(names: readonly string[]): SamplePoint[] {
  return [3, 5, 8, 6].map((start, p) => ({
    at: Object.fromEntries(names.map((name, k) => [name, start + ((k * (p + 2)) % 7)])),
    isPositive: true,
  }));
}
