import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import type { Model } from "../../model/decoder/model.ts";
import { checkSequences } from "./check_sequences.ts";
import { cutByTokens } from "./micro_batches.ts";
import { type Found, gatherOutputs } from "./gathered_outputs.ts";
import { noOutputs, tokenColumns, tokenOutputs } from "./loss_outputs.ts";
import type { TokenOutputs } from "./losses.ts";
import { forwardPass, packPass } from "./passes.ts";
import { groupByPrompt, promptGroupTokens } from "./prompt_groups.ts";
import { oneReducer } from "./reducer.ts";
import type { TrainingSequence } from "./sequence.ts";
import { divideEvenly } from "./divide_evenly.ts";

/** How sequences are cut into passes. */
export interface PassOptions {
  /** Tokens of one pass at most; a group that is longer is a pass of its own. */
  readonly microBatchTokens: number;
  /**
   * Neighbours with the same prompt compute it once, or at most so many of them; a pass then holds all of them or none.
   */
  readonly sharePrompts: boolean | number;
}

/**
 * Called between two passes of one call, on whose bits nothing that it does may show: others that share the GPU
 * sample meanwhile.
 */
export type BetweenPasses = () => Promise<void>;

/**
 * Log-probs of the targets and entropies of all predictions, under softmax(logits / temperature).
 *
 * @param reducer of processes that share the work; every one of them gets the whole
 * @returns of each sequence, in the order given
 * @throws UserError when a sequence is longer than the model's positions, or has a token it does not know
 */
export async function forwardSequences(
  model: Model,
  sequences: readonly TrainingSequence[],
  { microBatchTokens, sharePrompts }: PassOptions,
  temperature = 1,
  reducer = oneReducer,
  between?: BetweenPasses,
): Promise<TokenOutputs[]> {
  const { gpu } = model;
  checkSequences(model, sequences);
  const found: Found<TokenOutputs> = new Map();
  const groups = groupByPrompt(sequences.filter(predictsSomething), sharePrompts);
  const shares = divideEvenly(groups, promptGroupTokens, reducer.size);
  await reducer.together(async () => {
    const passes = cutIntoPasses(model, shares[reducer.rank], microBatchTokens);
    for (const [index, pass] of passes.entries()) {
      if (index > 0) await between?.();
      const made = gpu.scope(() => {
        const { logProbs, entropy } = forwardPass(model, packPass(gpu, pass), 1 / temperature);
        return [logProbs, entropy];
      }, (kept) => kept);
      const [logProbs, entropies] = await readReleased(gpu, made);
      const outputs = tokenOutputs(pass.flat(), { logProbs, entropies });
      pass.flat().forEach((sequence, s) => found.set(sequence, outputs[s]));
    }
  });
  await gatherOutputs(reducer, shares.map((share) => share.flat()), tokenColumns, found);
  return sequences.map((sequence) => found.get(sequence) ?? noOutputs);
}

/** Whether anything would come of computing a sequence. */
export const predictsSomething = ({ targets }: TrainingSequence): boolean => targets.length > 0;

/** Cuts groups, in their order, into passes of at most so many tokens as asked, and as the device binds. */
export function cutIntoPasses<Sequence extends TrainingSequence>(
  model: Model,
  groups: readonly (readonly Sequence[])[],
  microBatchTokens: number,
): (readonly Sequence[])[][] {
  const most = Math.min(microBatchTokens, model.tokensPerPass);
  return cutByTokens(groups, promptGroupTokens, most);
}

/** Reads f32 tensors and releases them. */
export async function readReleased(
  gpu: Gpu,
  tensors: readonly Tensor[],
): Promise<Float32Array[]> {
  try {
    return await gpu.readAll(tensors) as Float32Array[];
  } finally {
    gpu.release(...tensors);
  }
}
