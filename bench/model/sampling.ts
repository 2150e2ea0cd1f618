import { rollout } from "../../src/engine/sampling/rollout.ts";
import { Sampler } from "../../src/engine/sampling/sampler.ts";
import type { Model } from "../../src/model/decoder/model.ts";
import { samplingOf } from "../end_to_end/random_model.ts";
import { randomTokens } from "./random_tokens.ts";

/** Sequences sampled beside one another. */
export const samplingWidths = [1, 4, 16, 64];
const promptTokens = 16;
/** Sampled after each prompt. */
export const newTokens = 32;

/** Sampling some sequences at once, ready to run. */
export interface SamplingWork extends Disposable {
  readonly prompts: readonly Uint32Array[];
  /**
   * Computes prompts of 16 random tokens and samples 32 tokens after each.
   *
   * @returns the first sequence's tokens and the bits of its log-probs
   */
  run(): Promise<string>;
}

/** Sampling from a model at temperature 1; nothing stops early. */
export function samplingWork(model: Model, sequences: number): SamplingWork {
  const { vocabularySize } = model.config;
  const prompts = Array.from(
    { length: sequences },
    (_, s) => randomTokens(s, promptTokens, vocabularySize),
  );
  const requests = prompts.map((prompt, s) => ({ prompt, sequenceIds: [s] }));
  const sampler = new Sampler(model, { slots: sequences, stepsBetweenReadbacks: 16 });
  return {
    prompts,
    async run() {
      const [[{ tokens, logProbs }]] = await rollout(sampler, requests, samplingOf(newTokens));
      // The next time computes the prompts again.
      sampler.release();
      return `${tokens} ${new Uint32Array(logProbs.buffer)}`;
    },
    [Symbol.dispose]: () => sampler.close(),
  };
}
