/**
 * What the tokens of each step have together: those after the end of the step before, up to its own.
 *
 * @param tokens [T] a number for each token
 * @param stepEnds the token that ends each step, ascending
 */
export function sumsOfSteps(tokens: Float64Array, stepEnds: readonly number[]): number[] {
  return stepEnds.map((end, step) =>
    tokens.subarray(step === 0 ? 0 : stepEnds[step - 1] + 1, end + 1)
      .reduce((sum, one) => sum + one, 0)
  );
}
