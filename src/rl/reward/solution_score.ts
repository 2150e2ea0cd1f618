/** What log-probs of texts say of how good a solution is, and how a model learns to say it. */

/** A text whose log-prob tells something of a solution. L response tokens. */
export interface ScoredText {
  readonly prompt: Uint32Array;
  /** [L] */
  readonly response: Uint32Array;
  /** What each of its tokens' log-probs counts in the solution's logit. */
  readonly factor: number;
}

/** What a reward model says of a solution. */
export interface SolutionScore {
  readonly logit: number;
  /** P(the solution is right) = 1 / (1 + exp(−logit)). */
  readonly probability: number;
  /** [T] of each response token; null where the model speaks of the whole alone. */
  readonly tokens: Float64Array | null;
}

/** Log-probs of the tokens of texts, in the order given. */
export type TextLogProbs = readonly Float32Array[];

/** What log-probs of texts a score is made of. */
export interface FoundLogProbs {
  /** Under the weights of this moment. */
  readonly own: TextLogProbs;
  /** Under the reference; null without one. */
  readonly reference: TextLogProbs | null;
}

/**
 * The logit of some texts that tell of one solution, and what each token adds to it.
 *
 * @param first place of the first text's log-probs
 */
export function logitOf(
  texts: readonly ScoredText[],
  { own, reference }: FoundLogProbs,
  first = 0,
): { readonly logit: number; readonly tokens: readonly Float64Array[] } {
  const tokens = texts.map(({ factor }, t) =>
    Float64Array.from(
      own[first + t],
      (logProb, i) => factor * (logProb - (reference === null ? 0 : reference[first + t][i])),
    )
  );
  const logit = tokens.reduce((sum, own) => own.reduce((total, one) => total + one, sum), 0);
  return { logit, tokens };
}

/** 1 / (1 + exp(−logit)). */
export const probabilityOf = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** A solution that a reward model learns from. */
export interface LabelledTexts {
  /** The texts that tell of it. */
  readonly texts: readonly ScoredText[];
  readonly isCorrect: boolean;
  /** What it counts in the mean of the losses. */
  readonly weight: number;
}

/**
 * What each text's tokens weigh in the cross-entropy, Σ weight · −log P(token), whose gradient is that of the
 * solutions' weighted mean loss.
 */
export function lossWeights(
  solutions: readonly LabelledTexts[],
  found: FoundLogProbs,
): { readonly weights: number[]; readonly loss: number; readonly weight: number } {
  const weight = solutions.reduce((sum, one) => sum + one.weight, 0);
  let first = 0, loss = 0;
  const weights = solutions.flatMap(({ texts, isCorrect, weight: own }) => {
    const { logit } = logitOf(texts, found, first);
    first += texts.length;
    loss += own * crossEntropyOf(logit, isCorrect);
    const residual = (isCorrect ? 1 : 0) - probabilityOf(logit);
    return texts.map(({ factor }) => own * residual * factor / weight);
  });
  return { weights, loss, weight };
}

/** −log P(what is true) of a logit, which neither overflows nor loses small losses. */
export function crossEntropyOf(logit: number, isCorrect: boolean): number {
  const against = isCorrect ? -logit : logit;
  return Math.max(0, against) + Math.log1p(Math.exp(-Math.abs(against)));
}
