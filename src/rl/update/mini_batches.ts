import { groupIndices } from "../../base/statistics.ts";

/** A response as far as its mini-batch depends on it. */
export interface BatchedResponse {
  /** Which responses it is compared with; without one it stands alone. */
  readonly group?: number | string;
  readonly isMasked?: boolean;
}

/** Neighbouring responses, `first` up to but without `end`. */
export interface MiniBatch {
  readonly first: number;
  readonly end: number;
}

/**
 * Cuts a batch into mini-batches of whole groups, each with as many groups that are learned from as any other, or one
 * less: masked responses lie between them and count for nothing. There are fewer mini-batches when there are fewer such
 * groups, and one when all responses are masked.
 *
 * @param responses those of a group follow one another
 */
export function miniBatchesOf(responses: readonly BatchedResponse[], count: number): MiniBatch[] {
  if (responses.length === 0) return [];
  const groups = groupIndices(responses.map(({ group }, place) => group ?? `alone ${place}`));
  const learned = groups.filter((members) => members.some((place) => !responses[place].isMasked));
  const batches = Math.max(1, Math.min(count, learned.length));
  const firsts = Array.from(
    { length: batches },
    (_, batch) => batch === 0 ? 0 : learned[Math.ceil(batch * learned.length / batches)][0],
  );
  return firsts.map((first, batch) => ({ first, end: firsts[batch + 1] ?? responses.length }));
}
