import { divideEvenly } from "../../engine/training/divide_evenly.ts";
import type { KernelRates } from "./gpu_description.ts";
import type { PassSize, UpdateWork } from "./rehearsed_work.ts";
import { workSeconds } from "./work.ts";

/** Responses to one prompt that are trained on, in tokens. */
export interface TrainedGroup {
  readonly promptTokens: number;
  readonly lengths: readonly number[];
}

/** How an update is made; see the keys of `loss` and `reduction`. */
export interface UpdateSettings {
  readonly sharePrompts: boolean;
  readonly microBatchTokens: number;
  readonly shards: number;
  /** Optimizer updates that a batch is cut into, and passes over it. */
  readonly miniBatches: number;
  readonly epochs: number;
}

/**
 * Size of a pass over some groups. With a shared prompt of p tokens and responses of l: p − 1 tokens once,
 * each attending to those up to it, and l + 1 for each response, which attend to the prompt and to one another.
 */
export function passSizeOf(groups: readonly TrainedGroup[], sharePrompts: boolean): PassSize {
  const upTo = (n: number) => n * (n + 1) / 2;
  let tokens = 0, pairs = 0, predictions = 0;
  for (const { promptTokens: p, lengths } of groups) {
    const shared = sharePrompts && lengths.length > 1 ? p - 1 : 0;
    tokens += shared;
    pairs += upTo(shared);
    for (const length of lengths) {
      tokens += p + length - shared;
      pairs += upTo(p + length) - upTo(shared);
      predictions += length;
    }
  }
  return { tokens, pairs, predictions };
}

/** Cost of an update. */
export interface UpdateCost {
  /** Seconds of the gradients of the shards that each rank computes. */
  readonly gradientSeconds: readonly number[];
  /** The optimizer's step; the same on every rank. */
  readonly optimizerSeconds: number;
  /** Optimizer steps, each with a reduction of the gradient. */
  readonly updates: number;
}

/**
 * Ranks compute neighbouring shards of the batch, each in passes of `microBatchTokens`: gradient,
 * and with a KL term a forward pass of the reference.
 *
 * @param ranks that train the model together, no more than there are shards
 */
export function updateCost(
  rates: KernelRates,
  { parameters, gradient, reference, referenceBytes, step }: UpdateWork,
  groups: readonly TrainedGroup[],
  settings: UpdateSettings,
  ranks: number,
): UpdateCost {
  const { sharePrompts, microBatchTokens, shards, miniBatches, epochs } = settings;
  const sizeOf = (some: readonly TrainedGroup[]) => passSizeOf(some, sharePrompts);
  const shardSeconds = (shard: readonly TrainedGroup[]): number => {
    const { tokens, pairs, predictions } = sizeOf(shard);
    if (tokens === 0) return 0;
    const passes = Math.max(1, Math.ceil(tokens / microBatchTokens));
    const pass = {
      tokens: tokens / passes,
      pairs: pairs / passes,
      predictions: predictions / passes,
    };
    const compared = reference ? workSeconds(rates, reference(pass)) : 0;
    // From the host it comes once for all passes over the batch, and is asked once.
    const asked = referenceBytes > 0 ? 1 : epochs;
    return passes * (epochs * workSeconds(rates, gradient(pass)) + asked * compared);
  };
  const perBatch = Math.ceil(groups.length / miniBatches);
  const gradientSeconds = new Array<number>(ranks).fill(0);
  for (let first = 0; first < groups.length; first += perBatch) {
    const batch = groups.slice(first, first + perBatch);
    const shardGroups = divideEvenly(batch, (group) => sizeOf([group]).tokens, shards);
    for (let rank = 0; rank < ranks; rank++) {
      const [from, to] = [rank, rank + 1].map((r) => Math.floor(r * shards / ranks));
      const seconds = shardGroups.slice(from, to)
        .reduce((sum, shard) => sum + shardSeconds(shard), 0);
      gradientSeconds[rank] += seconds;
    }
  }
  const updates = epochs * Math.ceil(groups.length / perBatch);
  // Gradients are cleared once for each shard, and each shard after the first is copied and added.
  const own = Math.ceil(shards / ranks);
  const summed = 4 * parameters * (own + 5 * (own - 1));
  const bytes = step.other.bytes / ranks + summed;
  const optimizerSeconds = workSeconds(rates, { ...step, other: { ...step.other, bytes } });
  return { gradientSeconds, optimizerSeconds: updates * optimizerSeconds, updates };
}
