import { UserError } from "../../base/user_error.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { add } from "../../kernels/products/add.ts";
import { embeddingGradient } from "../../model/decoder/backward.ts";
import { wholeAt } from "../../model/decoder/gradient_order.ts";
import { type ExpertLoad, ExpertLoads } from "../../model/decoder/expert_loads.ts";
import type { Model } from "../../model/decoder/model.ts";
import { type AdamwNumbers, Optimizer, type UpdateResult } from "../../model/decoder/optimizer.ts";
import { sliceOf } from "../../model/decoder/slices.ts";
import { checkLoss } from "./check_sequences.ts";
import {
  type BetweenPasses,
  cutIntoPasses,
  forwardSequences,
  type PassOptions,
  predictsSomething,
  readReleased,
} from "./forward.ts";
import { type Found, gatherOutputs } from "./gathered_outputs.ts";
import { type Groups, lossPass, type LossPassOptions } from "./loss_pass.ts";
import { columnsOf, lossOutputs, noOutputs, weightedSum } from "./loss_outputs.ts";
import {
  changesGradient,
  type Loss,
  type LossOutputs,
  type SequenceFor,
  type TokenOutputs,
} from "./losses.ts";
import { gpuSteps } from "./passes.ts";
import { groupByPrompt, promptGroupTokens } from "./prompt_groups.ts";
import { oneReducer, type Reducer, type ShardRange } from "./reducer.ts";
import type { TrainingSequence } from "./sequence.ts";
import { addAll, copyOf, type EarlierShards, keptSums, sumEarlierShards } from "./shard_sums.ts";
import { divideEvenly } from "./divide_evenly.ts";
import { ownShards } from "./shards.ts";
import { TiedGradient } from "./tied_gradient.ts";
import { WholeGradients } from "./whole_gradients.ts";

/**
 * How a trainer computes. Of all this `sharePrompts` and `shards` show in the result, in the last digits, and
 * `microBatchTokens` where there is one shard and embedding and head share a table.
 */
export interface TrainerOptions extends PassOptions {
  /** Keeps each layer's input alone for the backward pass, which computes the rest again. */
  readonly gradientCheckpointing: boolean;
  /**
   * Shards that the sequences of a `forwardBackward` are cut into (`divideEvenly`). Each shard's gradient is
   * summed in order, and those of the shards over a fixed tree (`middleOf`), so that neither the number of
   * processes nor `microBatchTokens` shows in a bit. With 1, a table that embedding and head share has the
   * bits of its passes.
   */
  readonly shards: number;
}

/** What a `forwardBackward` may be told besides. */
export interface GradientOptions {
  readonly between?: BetweenPasses;
  /**
   * Leaves sequences that add nothing to the gradient (`changesGradient`) out of the passes: nothing is found of them.
   * They take their part in the cut into shards, and in exact zeros only in every sum, so that the gradient keeps its
   * bits; where embedding and head share a table and there is one shard, those of the passes that are left.
   */
  readonly leavesOutIdle?: boolean;
}

/** Result of `forwardBackward`. */
export interface LossResult<L extends Loss> {
  /** The loss itself, a sum over all predictions. */
  readonly loss: number;
  /** Outputs of each sequence, in the order given; empty for one that was left out. */
  readonly outputs: readonly LossOutputs<L>[];
}

/** Result of `optimStep`. */
export interface StepResult extends UpdateResult {
  /** How tokens were spread over experts; null of a model without, and where no gradient was computed. */
  readonly expertLoad: ExpertLoad | null;
}

/** Settings that all passes of a call share. */
interface LossSettings<L extends Loss> extends Omit<LossPassOptions<L>, "gradientCheckpointing"> {
  readonly between?: BetweenPasses;
  /** Whether a sequence is computed. */
  readonly isComputed: (sequence: SequenceFor<L>) => boolean;
}

/**
 * Trains one model: gradients add up until a step applies them. Several processes may train it together: all
 * call the same, each computes some shards of a batch, and what comes out is the same on all of them.
 */
export class Trainer {
  /** Step count and moments, for checkpoints. */
  readonly optimizer: Optimizer;
  /** Counts the tokens of experts in the gradients; null of a model without. */
  readonly #loads: ExpertLoads | null;
  /** Whether the gradients hold something that no step has applied. */
  #hasGradients = false;
  /** Whether gradients that earlier calls had added are gone with a call that failed. */
  #areLost = false;

  /** The shards that this process computes. */
  readonly #own: ShardRange;

  /**
   * @throws Error when the model was not made for training
   * @throws UserError when there are more processes than shards
   */
  constructor(
    readonly model: Model,
    readonly options: TrainerOptions,
    /** The processes that train it together. */
    readonly reducer: Reducer = oneReducer,
  ) {
    this.#own = ownShards(options.shards, reducer);
    this.optimizer = new Optimizer(model, reducer);
    this.#loads = ExpertLoads.of(model);
  }

  /** GPU memory of the sums that `forwardBackward` keeps beside the gradients, in bytes. */
  get shardSumBytes(): number {
    const { model, optimizer: { gradients }, options: { shards } } = this;
    const bytesOf = (tensors: readonly Tensor[]) =>
      tensors.reduce((sum, { bytes }) => sum + bytes, 0);
    const tied = shards > 1 && model.config.tiedEmbeddings ? embeddingGradient(model) : [];
    return keptSums(shards, this.#own) * bytesOf(gradients) + bytesOf(tied.map(({ rows }) => rows));
  }

  /**
   * Runs `body` with a model of the same shape whose weights lie where the gradients do; what is in them is not said.
   *
   * @throws Error when there are gradients that no step has applied
   */
  async withinGradients<Result>(body: (model: Model) => Promise<Result>): Promise<Result> {
    if (this.#hasGradients) throw new Error("the gradients' memory holds gradients");
    const lent = this.model.withinGradients();
    try {
      return await body(lent);
    } finally {
      lent.release();
    }
  }

  /** See `forwardSequences`. */
  forward(
    sequences: readonly TrainingSequence[],
    temperature = 1,
    between?: BetweenPasses,
  ): Promise<TokenOutputs[]> {
    const { model, options, reducer } = this;
    return forwardSequences(model, sequences, options, temperature, reducer, between);
  }

  /**
   * Adds the gradient of a loss to what is there. Nothing is divided by the number of sequences or calls.
   * Of a call that fails nothing is applied, nor of those before it, see `optimStep`.
   *
   * @param temperature log-probs are those of softmax(logits / temperature)
   * @throws what `checkLoss` throws, before anything is computed: the gradients are then as they were
   */
  async forwardBackward<L extends Loss>(
    sequences: readonly SequenceFor<L>[],
    loss: L,
    temperature = 1,
    { between, leavesOutIdle = false }: GradientOptions = {},
  ): Promise<LossResult<L>> {
    checkLoss(this.model, loss, sequences);
    const predicting = sequences.filter(predictsSomething);
    const groups = groupByPrompt<SequenceFor<L>>(predicting, this.options.sharePrompts);
    const found: Found<LossOutputs<L>> = new Map();
    const isComputed = (sequence: SequenceFor<L>) =>
      !leavesOutIdle || changesGradient(loss, sequence);
    const settings = { loss, inverseTemperature: 1 / temperature, between, isComputed };
    const hadGradients = this.#hasGradients;
    try {
      await (this.options.shards === 1
        ? this.#addWhole(groups, settings, found)
        : this.#addShards(groups, settings, found));
    } catch (error) {
      // The gradients are now those of half a batch.
      this.#areLost ||= hadGradients;
      this.#hasGradients = false;
      throw error;
    }
    const outputs = sequences.map((sequence) => found.get(sequence) ?? noOutputs);
    return { loss: weightedSum(loss, sequences, outputs), outputs };
  }

  /** The gradient of all groups, one chain of additions that goes on from what is there. */
  async #addWhole<L extends Loss>(
    groups: Groups<L>,
    settings: LossSettings<L>,
    found: Found<LossOutputs<L>>,
  ): Promise<void> {
    if (!this.#hasGradients) this.optimizer.zeroGradients();
    this.#hasGradients = true;
    await this.#passes(computedOf(groups, settings), settings, found);
  }

  /** The gradient of the shards, their sum over the tree, and then what is there. */
  async #addShards<L extends Loss>(
    groups: Groups<L>,
    settings: LossSettings<L>,
    found: Found<LossOutputs<L>>,
  ): Promise<void> {
    const { model, optimizer: { gradients, slices }, options: { shards }, reducer } = this;
    const { gpu } = model;
    const whole = new WholeGradients(wholeAt(model, slices), reducer.size);
    const shardGroups = divideEvenly(groups, promptGroupTokens, shards)
      .map((shard) => computedOf(shard, settings));
    const own = this.optimizer.ownSlices.map((slice) => sliceOf(gradients, slice));
    const before = this.#hasGradients ? copyOf(gpu, own, "gradients before") : [];
    this.#hasGradients = true;
    const tied = TiedGradient.of(model);
    const pass = { ...settings, embeddingTiles: tied?.tiles };
    let earlier: EarlierShards = { sums: [], addends: [] };
    try {
      await reducer.reduce(gpu, gradients, shards, whole, async () => {
        earlier = await sumEarlierShards(gpu, gradients, shards, this.#own, async (shard) => {
          this.optimizer.zeroGradients();
          await this.#passes(shardGroups[shard], pass, found);
          tied?.join();
        });
        const { sums, addends } = earlier;
        this.optimizer.zeroGradients();
        await this.#passes(shardGroups[this.#own.end - 1], pass, found, () => {
          whole.begin(sums, (slice) => {
            const target = sliceOf(gradients, slice);
            for (const addend of addends) add(gpu, sliceOf(addend, slice), target);
          });
          return whole;
        });
        tied?.join();
        await whole.end();
      });
      if (before.length > 0) addAll(gpu, before, own);
    } finally {
      const { sums, addends } = earlier;
      tied?.release();
      gpu.release(...before, ...sums.slice(0, -1).flatMap((sum) => sum.gradients));
      gpu.release(...addends.flat());
    }
    const shares = Array.from({ length: reducer.size }, (_, rank) => {
      const { first, end } = ownShards(shards, { rank, size: reducer.size });
      return shardGroups.slice(first, end).flat(2);
    });
    await gatherOutputs(reducer, shares, columnsOf(settings.loss), found);
  }

  /**
   * One pass after another, adding to the gradients and to what was found.
   *
   * @param last called before the last pass, also where there is none; gives what it tells how far it is
   */
  async #passes<L extends Loss>(
    groups: Groups<L>,
    settings: LossSettings<L>,
    found: Found<LossOutputs<L>>,
    last?: () => WholeGradients,
  ): Promise<void> {
    const passes = cutIntoPasses(this.model, groups, this.options.microBatchTokens);
    if (passes.length === 0) last?.();
    for (const [index, pass] of passes.entries()) {
      if (index > 0) await settings.between?.();
      const whole = index === passes.length - 1 ? last?.() : undefined;
      const outputs = await this.#pass(pass, settings, whole);
      pass.flat().forEach((sequence, s) => found.set(sequence, outputs[s]));
    }
  }

  /** One forward and backward pass. */
  async #pass<L extends Loss>(
    groups: Groups<L>,
    settings: LossSettings<L>,
    whole?: WholeGradients,
  ): Promise<LossOutputs<L>[]> {
    const { gpu } = this.model;
    const { gradientCheckpointing } = this.options;
    const options = { ...settings, gradientCheckpointing, expertLoads: this.#loads };
    const steps = lossPass(this.model, groups, options);
    const made = await gpuSteps(gpu, steps, whole && ((layer) => whole.passed(layer)));
    const [logProbs, entropies, statistics] = await readReleased(gpu, made);
    return lossOutputs(settings.loss, groups.flat(), { logProbs, entropies, statistics });
  }

  /**
   * Applies the gradients in one step of AdamW; the next `forwardBackward` begins with none. When any of
   * them is not finite, nothing is updated.
   *
   * @throws UserError when some of them were lost with a `forwardBackward` that failed; nothing is updated then,
   *   and the next one begins with none
   */
  async optimStep(numbers: AdamwNumbers): Promise<StepResult> {
    this.model.expectLive();
    if (this.#areLost) {
      this.#loads?.clear();
      this.#areLost = this.#hasGradients = false;
      throw new UserError(
        "Gradients were lost with a forwardBackward that failed; compute all of them again.",
      );
    }
    if (!this.#hasGradients) this.optimizer.zeroGradients();
    this.#hasGradients = false;
    const result = await this.optimizer.update(numbers);
    return { ...result, expertLoad: await this.#loads?.take(this.reducer) ?? null };
  }

  /** Returns the GPU memory of what the trainer itself allocated. */
  release(): void {
    this.optimizer.release();
    this.#loads?.release();
  }
}

/** Groups without the sequences that are left out. */
function computedOf<L extends Loss>(
  groups: Groups<L>,
  { isComputed }: Pick<LossSettings<L>, "isComputed">,
): Groups<L> {
  return groups.map((group) => group.filter(isComputed)).filter(({ length }) => length > 0);
}
