/**
 * DAPO's soft punishment of long responses (arXiv 2503.14476, section 3.4): 0 up to `buffer` tokens below
 * the longest length allowed, then falling linearly to -penalty at that length.
 *
 * @param length response tokens
 * @param maximumLength tokens of the longest response allowed
 * @param buffer tokens; 0 punishes nothing
 */
export function overlongPenalty(
  length: number,
  maximumLength: number,
  { buffer, penalty }: { readonly buffer: number; readonly penalty: number },
): number {
  const beyond = length - (maximumLength - buffer);
  return buffer === 0 || beyond <= 0 ? 0 : -penalty * Math.min(1, beyond / buffer);
}
