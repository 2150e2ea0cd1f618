import { type PackedNumbers, packNumbers } from "./packed_numbers.ts";

/** Tokens of a logged text in the update that learned from it, each list in their order. */
export interface SampleTokens {
  /**
   * Characters (UTF-16 code units) that each token adds to the text; their sum is the text's length. 0: the token
   * that ends a response, or one that begins a character which a later one completes.
   */
  readonly lengths: PackedNumbers;
  /** To four digits. */
  readonly advantages: PackedNumbers;
  /**
   * log p(training) − log p(sampling) of each token before the step's first update, nats, to four digits. Absent
   * where it was not measured: the text is of a later mini-batch, or nothing was updated.
   */
  readonly logProbDifferences?: PackedNumbers;
  /** A reward model's, where it has one for each token; to four digits. */
  readonly rewards?: PackedNumbers;
  /** Whatever the advantages, nothing was learned: the response was masked, or nothing was updated. */
  readonly isLeftOut?: true;
}

/** How a response was trained. L tokens. */
export interface TrainedResponse {
  /** [L] what each token adds to the text */
  readonly texts: readonly string[];
  /** [L] */
  readonly advantages: Float32Array;
  /** [L]; undefined when they were not measured */
  readonly differences: Float32Array | undefined;
  /** [L]; absent or null where tokens have no rewards of their own */
  readonly rewards?: Float64Array | null;
  readonly isLeftOut: boolean;
}

/** The record of a response's tokens. */
export function packTokens(
  { texts, advantages, differences, rewards, isLeftOut }: TrainedResponse,
): SampleTokens {
  return {
    lengths: packNumbers(texts.map(({ length }) => length)),
    advantages: packNumbers(Array.from(advantages, fourDigits)),
    ...(differences && { logProbDifferences: packNumbers(Array.from(differences, fourDigits)) }),
    ...(rewards && { rewards: packNumbers(Array.from(rewards, fourDigits)) }),
    ...(isLeftOut && { isLeftOut }),
  };
}

const fourDigits = (value: number): number => Number(value.toPrecision(4));
