import type { Tensor } from "../../gpu/tensor.ts";
import type { Model } from "../../model/decoder/model.ts";
import { type AdamwNumbers, Optimizer, type UpdateResult } from "../../model/decoder/optimizer.ts";
import {
  checkSequences,
  cutIntoPasses,
  forwardSequences,
  type PassOptions,
  predictsSomething,
  readReleased,
} from "./forward.ts";
import { lossGradient } from "./loss_gradient.ts";
import { lossOutputs, noOutputs, weightedSum } from "./loss_outputs.ts";
import type { Loss, LossOutputs, SequenceFor, TokenOutputs } from "./losses.ts";
import { forwardPass, gradientPass, packPass } from "./passes.ts";
import { groupByPrompt } from "./prompt_groups.ts";
import type { TrainingSequence } from "./sequence.ts";

/** How a trainer computes. None of it shows in the result but `sharePrompts`, in the last digits. */
export interface TrainerOptions extends PassOptions {
  /** Keeps each layer's input alone for the backward pass, which computes the rest again. */
  readonly gradientCheckpointing: boolean;
}

/** What `forwardBackward` found. */
export interface LossResult<L extends Loss> {
  /** The loss itself, a sum over all predictions. */
  readonly loss: number;
  /** Of each sequence, in the order given. */
  readonly outputs: readonly LossOutputs<L>[];
}

/** Trains one model: gradients add up until a step applies them. */
export class Trainer {
  /** Step count and moments, for checkpoints. */
  readonly optimizer: Optimizer;
  /** Whether the gradients hold something that no step has applied. */
  #hasGradients = false;

  /** @throws Error when the model was not made for training */
  constructor(readonly model: Model, readonly options: TrainerOptions) {
    this.optimizer = new Optimizer(model);
  }

  /** See `forwardSequences`. */
  forward(sequences: readonly TrainingSequence[], temperature = 1): Promise<TokenOutputs[]> {
    return forwardSequences(this.model, sequences, this.options, temperature);
  }

  /**
   * Adds the gradient of a loss to what is there. Nothing is divided by the number of sequences or calls.
   *
   * @param temperature log-probs are those of softmax(logits / temperature)
   * @throws UserError when a sequence is longer than the model's positions
   */
  async forwardBackward<L extends Loss>(
    sequences: readonly SequenceFor<L>[],
    loss: L,
    temperature = 1,
  ): Promise<LossResult<L>> {
    const { model, options } = this;
    checkSequences(model, sequences);
    if (!this.#hasGradients) this.optimizer.zeroGradients();
    this.#hasGradients = true;
    const found = new Map<SequenceFor<L>, LossOutputs<L>>();
    const predicting = sequences.filter(predictsSomething);
    const groups = groupByPrompt<SequenceFor<L>>(predicting, options.sharePrompts);
    for (const pass of cutIntoPasses(model, groups, options.microBatchTokens)) {
      const outputs = await this.#pass(pass, loss, temperature);
      pass.flat().forEach((sequence, s) => found.set(sequence, outputs[s]));
    }
    const outputs = sequences.map((sequence) => found.get(sequence) ?? noOutputs);
    return { loss: weightedSum(loss, sequences, outputs), outputs };
  }

  /** One forward and backward pass. */
  async #pass<L extends Loss>(
    groups: readonly (readonly SequenceFor<L>[])[],
    loss: L,
    temperature: number,
  ): Promise<LossOutputs<L>[]> {
    const { model, options: { gradientCheckpointing } } = this;
    const { gpu } = model;
    const sequences = groups.flat();
    const inverseTemperature = 1 / temperature;
    const made = gpu.scope(() => {
      const input = packPass(gpu, groups);
      const reference = loss.name === "cross_entropy" ? null : loss.kl?.reference ?? null;
      const refLogProbs: Tensor | null = reference && gpu.scope(
        () => forwardPass(reference, input, inverseTemperature).logProbs,
        (kept) => [kept],
      );
      const { head, gradient } = gradientPass(
        model,
        input,
        { inverseTemperature, gradientCheckpointing },
        (head) => lossGradient(gpu, loss, sequences, head, refLogProbs),
      );
      return [head.logProbs, head.entropy, ...(gradient.statistics ? [gradient.statistics] : [])];
    }, (kept) => kept);
    const [logProbs, entropies, statistics] = await readReleased(gpu, made);
    return lossOutputs(loss, sequences, { logProbs, entropies, statistics });
  }

  /**
   * Applies the gradients in one step of AdamW; the next `forwardBackward` begins with none. When any of
   * them is not finite, nothing is updated.
   */
  async optimStep(numbers: AdamwNumbers): Promise<UpdateResult> {
    if (!this.#hasGradients) this.optimizer.zeroGradients();
    this.#hasGradients = false;
    return await this.optimizer.update(numbers);
  }

  /** Returns the GPU memory of what the trainer itself allocated. */
  release(): void {
    this.optimizer.release();
  }
}
