/** Settings of the penalty for long responses. */
export interface OverlongOptions {
  /** Tokens below the longest length from which on they lose something; 0: none does. */
  readonly overlongBuffer: number;
  /** Penalty of a response of the longest length. */
  readonly overlongPenalty: number;
}

/**
 * DAPO's soft punishment of long responses (arXiv 2503.14476, section 3.4): 0 up to `overlongBuffer` tokens below
 * the longest length allowed, then falling linearly to -`overlongPenalty` at that length.
 *
 * @param length response tokens
 * @param maximumResponse tokens of the longest response allowed
 */
export function overlongPenalty(
  length: number,
  maximumResponse: number,
  { overlongBuffer, overlongPenalty: most }: OverlongOptions,
): number {
  const beyond = length - (maximumResponse - overlongBuffer);
  return overlongBuffer === 0 || beyond <= 0 ? 0 : -most * Math.min(1, beyond / overlongBuffer);
}
