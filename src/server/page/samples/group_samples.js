/**
 * @import { Sample } from "../contract.ts"
 */

/**
 * @typedef {object} ProblemGroup
 * @property {string} problem
 * @property {string} referenceAnswer
 * @property {Sample[]} samples
 */

/**
 * Samples by the problem they answer, in the order in which the problems first come.
 *
 * @param {readonly Sample[]} samples
 * @returns {ProblemGroup[]}
 */
export function groupSamples(samples) {
  /** @type {Map<string, ProblemGroup>} */
  const groups = new Map();
  for (const sample of samples) {
    const { problem, referenceAnswer } = sample;
    const group = groups.get(problem) ?? { problem, referenceAnswer, samples: [] };
    group.samples.push(sample);
    groups.set(problem, group);
  }
  return [...groups.values()];
}
