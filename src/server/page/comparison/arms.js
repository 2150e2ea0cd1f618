/**
 * @import { Comparison } from "../contract.ts"
 */

/** Colours of lines, and dashes. */
const MOST = 4;

/**
 * How each run of a comparison is drawn: its colour says the method, its dashes the seed.
 *
 * @param {Comparison["runs"]} runs
 * @returns {Map<string, { label: string, colour: number, dash: number }>} by id
 */
export function armsOf(runs) {
  const methods = [...new Set(runs.map(({ method }) => method))];
  const seeds = [...new Set(runs.map(({ seed }) => seed))];
  return new Map(runs.map(({ id, method, seed }) => [id, {
    label: `${method}, seed ${seed}`,
    colour: methods.indexOf(method) % MOST,
    dash: seeds.indexOf(seed) % MOST,
  }]));
}
