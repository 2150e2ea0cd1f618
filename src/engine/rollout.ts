import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { UserError } from "../base/user_error.ts";
import { cacheWrite } from "../kernels/cache_write.ts";
import { DecodeState } from "./decode_state.ts";
import { decodeStep } from "./decode_step.ts";
import { forwardOnly } from "../model/decoder/forward.ts";
import { KvCache, pageTokens } from "./kv_cache.ts";
import type { Model } from "../model/decoder/model.ts";
import { packSequences } from "../model/decoder/packed_batch.ts";
import { cutByTokens } from "./micro_batches.ts";
import {
  pagesPerSequence,
  type Prefill,
  RolloutQueue,
  type RolloutRequest,
  type RolloutResponse,
  type Slot,
} from "./rollout_queue.ts";

export type { RolloutRequest, RolloutResponse } from "./rollout_queue.ts";

/** How responses are sampled. */
export interface SamplingOptions {
  /** 0 takes the likeliest token. */
  readonly temperature: number;
  /** 0 means all. */
  readonly topK: number;
  /** 1 means all. */
  readonly topP: number;
  /** 0 means all. */
  readonly minP: number;
  readonly seed: number;
  readonly stream: number;
  readonly step: number;
  readonly stopTokens: readonly number[];
  /** The most tokens in a response. */
  readonly maximumResponse: number;
  /** Sequences decoded at once. */
  readonly slots: number;
  /** Tokens decoded between two looks at what has finished. */
  readonly stepsBetweenReadbacks: number;
}

/** How responses are drawn: temperature, filters and the place of their random numbers. */
export type Sampling = Pick<
  SamplingOptions,
  "temperature" | "topK" | "topP" | "minP" | "seed" | "stream" | "step"
>;

/** Tokens prefilled in one pass. */
const prefillTokens = 8192;

/**
 * Told the tokens of a response as they are read back.
 *
 * @param request place of its request
 * @param place among the request's sequence ids
 */
export type RolloutWatcher = (request: number, place: number, tokens: readonly number[]) => void;

/**
 * Samples responses. All responses to a prompt share its prefill; a finished one makes room for a
 * waiting one; tokens, stop tests and random numbers stay on the GPU between readbacks. The order of
 * the work does not show in the result.
 *
 * @returns for each request its responses, in the order of its sequence ids
 * @throws UserError when a prompt with a longest response exceeds the model's positions
 */
export async function generate(
  model: Model,
  requests: readonly RolloutRequest[],
  options: SamplingOptions,
  watch?: RolloutWatcher,
): Promise<RolloutResponse[][]> {
  const { config, gpu } = model;
  const longest = Math.max(1, ...requests.map(({ prompt }) => prompt.length));
  if (longest + options.maximumResponse > config.maxPositions) {
    throw new UserError(
      `A prompt of ${longest} tokens and a response of up to ${options.maximumResponse} exceed the ` +
        `model's ${config.maxPositions} positions; lower max_response_length.`,
    );
  }
  const responses = requests.reduce((sum, { sequenceIds }) => sum + sequenceIds.length, 0);
  const slots = Math.min(options.slots, responses, model.decodeSlots);
  const pagesEach = pagesPerSequence(longest, options.maximumResponse);
  const cache = new KvCache(model, slots * pagesEach);
  try {
    const queue = new RolloutQueue(requests, cache, slots, options.maximumResponse);
    const results = requests.map(({ sequenceIds }): RolloutResponse[] => Array(sequenceIds.length));
    while (!queue.done) {
      prefill(model, cache, queue.admit());
      const { tokens, logProbs, width } = await decodeWindow(
        model,
        cache,
        queue.active,
        pagesEach,
        options,
      );
      const ended = new Set<Slot>();
      queue.active.forEach((slot, s) => {
        const before = slot.tokens.length;
        for (let step = 0; step < options.stepsBetweenReadbacks; step++) {
          const token = tokens[step * width + s];
          slot.tokens.push(token);
          slot.logProbs.push(logProbs[step * width + s]);
          slot.token = token;
          slot.position++;
          slot.remaining--;
          const stopped = options.stopTokens.includes(token);
          if (!stopped && slot.remaining > 0) continue;
          ended.add(slot);
          results[slot.request][slot.place] = {
            sequenceId: slot.sequenceId,
            tokens: Uint32Array.from(slot.tokens),
            logProbs: Float32Array.from(slot.logProbs),
            finished: stopped,
          };
          break;
        }
        watch?.(slot.request, slot.place, slot.tokens.slice(before));
      });
      queue.retire(ended);
    }
    return results;
  } finally {
    cache.release();
    gpu.submit();
  }
}

/** Runs the prompts through the model and stores their keys and values in the cache. */
function prefill(model: Model, cache: KvCache, prefills: readonly Prefill[]): void {
  const { gpu } = model;
  const inhabited = prefills.filter(({ tokens }) => tokens.length > 0);
  const most = Math.min(prefillTokens, model.tokensPerPass);
  for (const run of cutByTokens(inhabited, ({ tokens }) => tokens.length, most)) {
    gpu.scope(() => {
      const batch = packSequences(gpu, run.map(({ tokens }) => tokens));
      const pairs = Uint32Array.from(
        run.flatMap(({ tokens, rows }, s) => {
          const first = batch.sequenceEnds[s] - tokens.length;
          return rows.flatMap(([t, row]) => [first + t, row]);
        }),
      );
      const pairTensor = gpu.from(pairs, [pairs.length / 2, 2], "u32", "cache rows");
      forwardOnly(model, batch, (layer, keys, values) => {
        cacheWrite(gpu, { keys, values }, pairTensor, {
          cacheKeys: cache.keys[layer],
          cacheValues: cache.values[layer],
        });
      });
    });
  }
}

/** Decodes some tokens of every active response without looking in between. */
async function decodeWindow(
  model: Model,
  cache: KvCache,
  active: readonly Slot[],
  pagesEach: number,
  options: SamplingOptions,
): Promise<{ tokens: Uint32Array; logProbs: Float32Array; width: number }> {
  const { gpu } = model;
  // A round number of slots keeps the shapes few; the surplus ones are inactive.
  const width = Math.ceil(active.length / 16) * 16;
  const steps = options.stepsBetweenReadbacks;
  const made = gpu.scope(() => {
    const state = uploadState(gpu, active, width, pagesEach);
    const tokens = gpu.tensor([steps, width], "u32", "sampled tokens");
    const logProbs = gpu.tensor([steps, width], "f32", "sampled log-probs");
    for (let step = 0; step < steps; step++) {
      gpu.scope(() => decodeStep(model, cache, state, { tokens, logProbs, step }, options));
    }
    return [tokens, logProbs];
  }, (kept): Tensor[] => kept);
  const [tokens, logProbs] = await gpu.readAll(made);
  gpu.release(...made);
  return { tokens: tokens as Uint32Array, logProbs: logProbs as Float32Array, width };
}

function uploadState(
  gpu: Gpu,
  active: readonly Slot[],
  width: number,
  pagesEach: number,
): DecodeState {
  const host = DecodeState.host(width, pagesEach);
  active.forEach((slot, s) => {
    host.tokens[s] = slot.token;
    host.positions[s] = slot.position;
    host.remaining[s] = slot.remaining;
    host.sequenceIds[s] = slot.sequenceId;
    host.pageTable.set(slot.pages, s * pagesEach);
    const page = slot.pages[Math.floor(slot.position / pageTokens)];
    host.keyRows[s] = page * pageTokens + slot.position % pageTokens;
    host.lengths[s] = slot.position + 1;
  });
  return new DecodeState(gpu, host);
}
