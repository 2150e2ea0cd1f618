/** Checks of a batch before any of it is computed: gradients added by then could not be taken back. */

import { UserError } from "../../base/user_error.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { Loss, SampledSequence, SequenceFor, WeightedSequence } from "./losses.ts";
import type { TrainingSequence } from "./sequence.ts";

/**
 * Checks sequences of which a model is to say something.
 *
 * @throws UserError when one is longer than the model's positions, or has a token that is not in its vocabulary
 * @throws Error when one predicts beyond its tokens, or the model was released
 */
export function checkSequences(model: Model, sequences: readonly TrainingSequence[]): void {
  model.expectLive();
  const { maxPositions, vocabularySize } = model.config;
  for (const { tokens, targets, first } of sequences) {
    if (!Number.isInteger(first) || first < 0 || first + targets.length > tokens.length) {
      throw new Error(
        `a sequence of ${tokens.length} tokens cannot make ${targets.length} predictions from ${first} on`,
      );
    }
    if (tokens.length > maxPositions) {
      throw new UserError(
        `An example has ${tokens.length} tokens and the model ${maxPositions} positions; take shorter ` +
          `examples or a model with more.`,
      );
    }
    const unknown = unknownToken(tokens, vocabularySize) ?? unknownToken(targets, vocabularySize);
    if (unknown === undefined) continue;
    throw new UserError(
      `An example has token ${unknown} and the model a vocabulary of ${vocabularySize}; take the ` +
        `model's own tokenizer.`,
    );
  }
}

const unknownToken = (tokens: Uint32Array, size: number) => tokens.find((token) => token >= size);

/**
 * Checks sequences with all that a loss needs of them.
 *
 * @throws as `checkSequences` does
 * @throws Error also when something is missing, or not there for each prediction
 */
export function checkLoss<L extends Loss>(
  model: Model,
  loss: L,
  sequences: readonly SequenceFor<L>[],
): void;
export function checkLoss(model: Model, loss: Loss, sequences: readonly WeightedSequence[]): void {
  checkSequences(model, sequences);
  for (const sequence of sequences) {
    for (const [name, array] of Object.entries(neededArrays(loss, sequence))) {
      if (array?.length === sequence.targets.length) continue;
      throw new Error(
        `${loss.name} needs ${name} for each of a sequence's ${sequence.targets.length} predictions, ` +
          `found ${array?.length ?? "none"}`,
      );
    }
  }
  if (loss.name !== "cross_entropy") loss.kl?.reference?.expectLive();
}

function neededArrays(
  loss: Loss,
  sequence: WeightedSequence,
): Readonly<Record<string, Float32Array | undefined>> {
  const { weights } = sequence;
  if (loss.name === "cross_entropy") return { weights };
  const { oldLogProbs, advantages, refLogProbs } = sequence as SampledSequence;
  const given = loss.kl && loss.kl.reference === null ? { refLogProbs } : {};
  return { weights, oldLogProbs, advantages, ...given };
}
