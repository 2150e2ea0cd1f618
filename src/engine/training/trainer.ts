import type { Tensor } from "../../gpu/tensor.ts";
import { embeddingGradient } from "../../model/decoder/backward.ts";
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
import { groupByPrompt, promptGroupTokens } from "./prompt_groups.ts";
import { alone, type Reducer } from "./reducer.ts";
import type { TrainingSequence } from "./sequence.ts";
import { addAll, copyOf, keptSums, sumShards } from "./shard_sums.ts";
import { cutIntoShards } from "./shards.ts";
import { TiedGradient } from "./tied_gradient.ts";

/** How a trainer computes. Of all this `sharePrompts` and `shards` show in the result, in the last digits. */
export interface TrainerOptions extends PassOptions {
  /** Keeps each layer's input alone for the backward pass, which computes the rest again. */
  readonly gradientCheckpointing: boolean;
  /**
   * Parts that the sequences of a `forwardBackward` are cut into (`cutIntoShards`). Each part's gradient is
   * summed in order, and those of the parts over a fixed tree (`sumShards`), so that neither the number of
   * processes nor `microBatchTokens` shows in a bit. With 1, a table that embedding and head share has the
   * bits of its passes.
   */
  readonly shards: number;
}

/** What `forwardBackward` found. */
export interface LossResult<L extends Loss> {
  /** The loss itself, a sum over the predictions of the parts that this process computed. */
  readonly loss: number;
  /** Of each sequence, in the order given; empty for those of parts that another process computes. */
  readonly outputs: readonly LossOutputs<L>[];
}

/** Groups of sequences, each computed in one pass. */
type Groups<L extends Loss> = readonly (readonly SequenceFor<L>[])[];

/** What a pass knows besides its sequences. */
interface PassSettings<L extends Loss> {
  readonly loss: L;
  readonly temperature: number;
  readonly tied: TiedGradient | null;
}

/** Trains one model: gradients add up until a step applies them. */
export class Trainer {
  /** Step count and moments, for checkpoints. */
  readonly optimizer: Optimizer;
  /** Whether the gradients hold something that no step has applied. */
  #hasGradients = false;

  /** @throws Error when the model was not made for training */
  constructor(
    readonly model: Model,
    readonly options: TrainerOptions,
    private readonly reducer: Reducer = alone,
  ) {
    this.optimizer = new Optimizer(model);
  }

  /** GPU memory of the sums that `forwardBackward` keeps beside the gradients, in bytes. */
  get shardSumBytes(): number {
    const { model, optimizer: { gradients }, options: { shards } } = this;
    const bytesOf = (tensors: readonly Tensor[]) =>
      tensors.reduce((sum, { bytes }) => sum + bytes, 0);
    const tied = shards > 1 && model.config.tiedEmbeddings ? embeddingGradient(model) : [];
    return keptSums(shards) * bytesOf(gradients) + bytesOf(tied.map(({ rows }) => rows));
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
    checkSequences(this.model, sequences);
    const predicting = sequences.filter(predictsSomething);
    const groups = groupByPrompt<SequenceFor<L>>(predicting, this.options.sharePrompts);
    const found = new Map<SequenceFor<L>, LossOutputs<L>>();
    const settings = { loss, temperature };
    await (this.options.shards === 1
      ? this.#addWhole(groups, settings, found)
      : this.#addShards(groups, settings, found));
    const outputs = sequences.map((sequence) => found.get(sequence) ?? noOutputs);
    return { loss: weightedSum(loss, sequences, outputs), outputs };
  }

  /** The gradient of all groups, one chain of additions that goes on from what is there. */
  async #addWhole<L extends Loss>(
    groups: Groups<L>,
    settings: Omit<PassSettings<L>, "tied">,
    found: Map<SequenceFor<L>, LossOutputs<L>>,
  ): Promise<void> {
    if (!this.#hasGradients) this.optimizer.zeroGradients();
    this.#hasGradients = true;
    await this.#passes(groups, { ...settings, tied: null }, found);
  }

  /** The gradient of the parts, their sum over the tree, and then what is there. */
  async #addShards<L extends Loss>(
    groups: Groups<L>,
    settings: Omit<PassSettings<L>, "tied">,
    found: Map<SequenceFor<L>, LossOutputs<L>>,
  ): Promise<void> {
    const { model, optimizer: { gradients }, options: { shards }, reducer } = this;
    const { gpu } = model;
    const parts = cutIntoShards(groups, promptGroupTokens, shards);
    const before = this.#hasGradients ? copyOf(gpu, gradients, "gradients before") : [];
    this.#hasGradients = true;
    const tied = TiedGradient.of(model);
    try {
      const sums = await sumShards(gpu, gradients, shards, reducer.own(shards), async (shard) => {
        this.optimizer.zeroGradients();
        await this.#passes(parts[shard], { ...settings, tied }, found);
        tied?.join();
      });
      try {
        await reducer.reduce(sums, gradients, shards);
      } finally {
        gpu.release(...sums.slice(0, -1).flatMap((sum) => sum.gradients));
      }
      addAll(gpu, before, gradients);
    } finally {
      tied?.release();
      gpu.release(...before);
    }
  }

  /** One pass after another, adding to the gradients and to what was found. */
  async #passes<L extends Loss>(
    groups: Groups<L>,
    settings: PassSettings<L>,
    found: Map<SequenceFor<L>, LossOutputs<L>>,
  ): Promise<void> {
    for (const pass of cutIntoPasses(this.model, groups, this.options.microBatchTokens)) {
      const outputs = await this.#pass(pass, settings);
      pass.flat().forEach((sequence, s) => found.set(sequence, outputs[s]));
    }
  }

  /** One forward and backward pass. */
  async #pass<L extends Loss>(
    groups: Groups<L>,
    { loss, temperature, tied }: PassSettings<L>,
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
        { inverseTemperature, gradientCheckpointing, embeddingTiles: tied?.tiles },
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
