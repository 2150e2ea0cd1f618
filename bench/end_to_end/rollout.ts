import { rollout, type RolloutResponse } from "../../src/engine/sampling/rollout.ts";
import type { MakeBenchmark } from "../benchmark.ts";
import { benchSampler, randomModel, samplingOf } from "./random_model.ts";
import { referenceLogProbs } from "./reference_decoder.ts";

/** Prefill and decoding of many prompts, tokens and log-probs read back; counts new tokens. */
export const makeRollout: MakeBenchmark = (bench, shape) => {
  const { sequences, promptTokens, newTokens } = shape.size;
  const model = randomModel(bench, shape, {
    maxPositions: promptTokens + newTokens,
    trained: false,
  });
  const { config } = model;
  const { data } = bench.randomIntegers(sequences * promptTokens, config.vocabularySize);
  const requests = Array.from({ length: sequences }, (_, s) => ({
    prompt: data.subarray(s * promptTokens, (s + 1) * promptTokens),
    sequenceIds: [s],
  }));
  const sampler = benchSampler(bench, model, sequences);
  let responses: RolloutResponse[][] = [];
  return {
    work: sequences * newTokens,
    launch: async () => {
      responses = await rollout(sampler, requests, samplingOf(newTokens));
      // The next launch computes the prompts again.
      sampler.release();
    },
    check: async () => {
      const weights = await model.parameters.read();
      const count = responses.reduce((sum, [{ tokens }]) => sum + tokens.length, 0);
      const samples = [...new Set([0, sequences - 1])].flatMap((s) => {
        const [{ tokens, logProbs }] = responses[s];
        const text = Uint32Array.of(...requests[s].prompt, ...tokens);
        const expected = referenceLogProbs(config, weights, text).subarray(promptTokens - 1);
        return Array.from(expected, (value, i) => ({
          what: `log-prob of token ${i} of sequence ${s}`,
          actual: logProbs[i],
          expected: value,
          // What f32 layers one after another add up to, measured 2e-6, with room to spare.
          bound: 1e-5,
        }));
      });
      const [expected, bound] = [sequences * newTokens, 0];
      return [{ what: "new tokens", actual: count, expected, bound }, ...samples];
    },
  };
};
