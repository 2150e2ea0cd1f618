/**
 * How the tokens' losses become one number:
 *
 * - `token-mean`: the mean over all response tokens, so that long responses count more (DAPO).
 * - `sequence-mean`: the mean over responses of each one's mean (GRPO as published, GSPO).
 * - `sequence-sum`: the mean over responses of each one's sum, divided by the longest length allowed: no
 *   response counts more for being short (Dr. GRPO).
 */
export type LossAggregation = "token-mean" | "sequence-mean" | "sequence-sum";

/** A response as far as its weight depends on it. */
export interface WeighedResponse {
  /** Response tokens. */
  readonly length: number;
  /** Left out: its tokens weigh nothing and are counted nowhere. */
  readonly isMasked: boolean;
}

/**
 * Weight of each response's tokens in the loss of an update; null when all responses are masked.
 *
 * @param responses of the whole global batch of the update, however it is cut into passes
 * @param maximumResponse tokens of the longest response allowed
 */
export function tokenWeights(
  responses: readonly WeighedResponse[],
  aggregation: LossAggregation,
  maximumResponse: number,
): number[] | null {
  const counted = responses.filter(({ isMasked, length }) => !isMasked && length > 0);
  if (counted.length === 0) return null;
  const tokens = counted.reduce((sum, { length }) => sum + length, 0);
  return responses.map(({ length, isMasked }) => {
    if (isMasked) return 0;
    switch (aggregation) {
      case "token-mean":
        return 1 / tokens;
      case "sequence-mean":
        return 1 / (counted.length * length);
      case "sequence-sum":
        return 1 / (counted.length * maximumResponse);
    }
  });
}
