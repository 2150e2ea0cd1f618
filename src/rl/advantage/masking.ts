import { groupIndices } from "../../base/statistics.ts";

/** Which responses are left out of the loss. */
export interface MaskingOptions {
  /** Whether truncated responses are left out: nothing but their length is known to be wrong. */
  readonly maskTruncated: boolean;
  /** Whether groups whose advantages are all 0 are left out: only the KL and entropy terms would act on them. */
  readonly dropZeroStd: boolean;
}

/** Equal rewards less their mean are 0 but for rounding, divided by the 1e-6 that stands for their deviation. */
const isNothing = (advantage: number) => Math.abs(advantage) < 1e-6;

/**
 * Whether each response is left out.
 *
 * @param responses of the global batch
 */
export function maskedResponses(
  responses: readonly {
    readonly group: number | string;
    readonly finished: boolean;
    readonly advantages: Float32Array;
  }[],
  { maskTruncated, dropZeroStd }: MaskingOptions,
): boolean[] {
  const masked = responses.map(({ finished }) => maskTruncated && !finished);
  if (!dropZeroStd) return masked;
  for (const members of groupIndices(responses.map(({ group }) => group))) {
    if (!members.every((i) => responses[i].advantages.every(isNothing))) continue;
    for (const i of members) masked[i] = true;
  }
  return masked;
}
