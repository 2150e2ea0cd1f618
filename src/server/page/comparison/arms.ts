import type { ComparisonSoFar } from "../../routes/comparison.ts";

/** Colours of lines, and dashes. */
const MOST = 4;

/**
 * How each run of a comparison is drawn: its colour says the method, its dashes the seed.
 *
 * @returns by id
 */
export function armsOf(
  runs: ComparisonSoFar["runs"],
): Map<string, { label: string; colour: number; dash: number }> {
  const methods = [...new Set(runs.map(({ method }) => method))];
  const seeds = [...new Set(runs.map(({ seed }) => seed))];
  return new Map(runs.map(({ id, method, seed }) => [id, {
    label: `${method}, seed ${seed}`,
    colour: methods.indexOf(method) % MOST,
    dash: seeds.indexOf(seed) % MOST,
  }]));
}
