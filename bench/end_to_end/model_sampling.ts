import { rollout } from "../../src/engine/sampling/rollout.ts";
import { Sampler } from "../../src/engine/sampling/sampler.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { loadModel } from "../../src/model/weights/model_folder.ts";
import { RandomStream } from "../../src/random/philox.ts";
import { samplingOf } from "./random_model.ts";

/** Sequences sampled beside one another. */
const widths = [1, 4, 16, 64];
const promptTokens = 16;
const newTokens = 32;

/** How fast so many sequences are sampled. */
export interface SamplingRate {
  readonly sequences: number;
  /** New tokens of all sequences, their prompts' computation included in the time. */
  readonly tokensPerSecond: number;
}

/**
 * Samples from a real model, some sequences at once, prompts of 16 random tokens and 32 new tokens each.
 *
 * @param path Hugging Face folder or .gguf file
 * @param report told each rate
 * @throws Error when the first sequence has not the same bits beside others as alone
 */
export async function measureSampling(
  gpu: Gpu,
  path: string,
  report: (rate: SamplingRate) => void,
): Promise<void> {
  const model = await loadModel(gpu, path, { trained: false });
  try {
    let first = "";
    for (const sequences of widths) {
      const requests = Array.from({ length: sequences }, (_, s) => {
        const random = new RandomStream(1, s);
        const { vocabularySize } = model.config;
        const tokens = { length: promptTokens };
        const prompt = Uint32Array.from(tokens, () => random.integer(vocabularySize));
        return { prompt, sequenceIds: [s] };
      });
      const sampler = new Sampler(model, { slots: sequences, stepsBetweenReadbacks: 16 });
      const sample = async () => {
        const [[{ tokens, logProbs }]] = await rollout(sampler, requests, samplingOf(newTokens));
        // The next time computes the prompts again.
        sampler.release();
        const bits = `${tokens} ${new Uint32Array(logProbs.buffer)}`;
        first ||= bits;
        if (bits !== first) throw new Error(`${sequences} sequences: the first has other bits`);
      };
      try {
        await sample(); // compiles
        const times: number[] = [];
        for (let run = 0; run < 3; run++) {
          const start = performance.now();
          await sample();
          times.push((performance.now() - start) / 1000);
        }
        const [, median] = times.sort((a, b) => a - b);
        report({ sequences, tokensPerSecond: sequences * newTokens / median });
      } finally {
        sampler.close();
      }
    }
  } finally {
    model.release();
  }
}
