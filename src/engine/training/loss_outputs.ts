import type { Loss, LossOutputs, PolicyTerms, SequenceFor, TokenOutputs } from "./losses.ts";
import type { TrainingSequence } from "./sequence.ts";

/** Outputs read from a pass. R predictions, those of one sequence after another. */
export interface PassReadings {
  /** [R] */
  readonly logProbs: Float32Array;
  /** [R] */
  readonly entropies: Float32Array;
  /** [R, 4] surrogate, kl, ratio, clipped; of a policy-gradient loss only */
  readonly statistics?: Float32Array;
}

/** The names of what is found of a prediction without a loss. */
export const tokenColumns: readonly (keyof TokenOutputs)[] = ["logProbs", "entropies"];

const policyColumns: readonly (keyof (TokenOutputs & PolicyTerms))[] = [
  ...tokenColumns,
  "surrogates",
  "kls",
  "ratios",
  "clipped",
];

/** The names of what a loss finds of a prediction. */
export function columnsOf<L extends Loss>(loss: L): readonly (keyof LossOutputs<L>)[];
export function columnsOf(loss: Loss): readonly string[] {
  return loss.name === "cross_entropy" ? tokenColumns : policyColumns;
}

/** Outputs of a sequence that predicts nothing, under any loss. */
export const noOutputs: TokenOutputs & PolicyTerms = {
  logProbs: new Float32Array(),
  entropies: new Float32Array(),
  surrogates: new Float32Array(),
  kls: new Float32Array(),
  ratios: new Float32Array(),
  clipped: new Float32Array(),
};

/** Cuts what was read of a pass into what each sequence found. */
export function tokenOutputs(
  sequences: readonly TrainingSequence[],
  { logProbs, entropies }: PassReadings,
): TokenOutputs[] {
  return perSequence(sequences, (first, end) => ({
    logProbs: logProbs.subarray(first, end),
    entropies: entropies.subarray(first, end),
  }));
}

/** As `tokenOutputs`, with the loss's terms. */
export function lossOutputs<L extends Loss>(
  loss: L,
  sequences: readonly TrainingSequence[],
  readings: PassReadings,
): LossOutputs<L>[];
export function lossOutputs(
  loss: Loss,
  sequences: readonly TrainingSequence[],
  readings: PassReadings,
): (TokenOutputs & Partial<PolicyTerms>)[] {
  const tokens = tokenOutputs(sequences, readings);
  if (loss.name === "cross_entropy") return tokens;
  const { statistics } = readings;
  if (!statistics) throw new Error(`${loss.name} was computed without its terms`);
  return perSequence(sequences, (first, end, s) => {
    const column = (c: number) =>
      Float32Array.from({ length: end - first }, (_, i) => statistics[4 * (first + i) + c]);
    return {
      ...tokens[s],
      surrogates: column(0),
      kls: column(1),
      ratios: column(2),
      clipped: column(3),
    };
  });
}

function perSequence<Made>(
  sequences: readonly TrainingSequence[],
  make: (first: number, end: number, sequence: number) => Made,
): Made[] {
  let end = 0;
  return sequences.map(({ targets }, s) => make(end, end += targets.length, s));
}

/** The loss itself, from what was found of its sequences. Float64, in their order. */
export function weightedSum<L extends Loss>(
  loss: L,
  sequences: readonly SequenceFor<L>[],
  outputs: readonly LossOutputs<L>[],
): number {
  let sum = 0;
  sequences.forEach(({ weights }, s) => {
    const found: TokenOutputs & Partial<PolicyTerms> = outputs[s];
    for (let i = 0; i < found.logProbs.length; i++) {
      if (weights[i] !== 0) sum += weights[i] * lossOfToken(loss, found, i);
    }
  });
  return sum;
}

function lossOfToken(
  loss: Loss,
  { logProbs, entropies, surrogates, kls }: TokenOutputs & Partial<PolicyTerms>,
  token: number,
): number {
  if (loss.name === "cross_entropy") return -logProbs[token];
  if (!surrogates || !kls) throw new Error(`${loss.name} was computed without its terms`);
  return surrogates[token] + (loss.kl?.coefficient ?? 0) * kls[token] -
    loss.entropyCoefficient * entropies[token];
}
