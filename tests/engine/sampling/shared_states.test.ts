/** States of DeltaNets that several responses share, and those that passes leave for the next: no bit depends on it. */

import assert from "node:assert/strict";
import { RandomStream } from "../../../src/random/philox.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { familyModel } from "../../model/families.ts";
import { alone, ask, content, finish, plain, withSampler } from "./wanted.ts";

for (const name of ["qwen3_5-2", "qwen3_5-5"]) {
  onEveryGpu(`sampler: ${name} keeps its bits whatever is walked with what`, async (gpu) => {
    const model = familyModel(gpu, name, { trained: false });
    try {
      const { vocabularySize, maxPositions } = model.config;
      const tokens = (length: number, seed: number) => {
        const random = new RandomStream(seed, 97);
        return Array.from({ length }, () => random.integer(vocabularySize));
      };
      const beginning = tokens(18, 1);
      // Three prompts that begin alike, each of three responses, of which one wants to know its prompt's log-probs.
      const wanted = [9, 20, 33].flatMap((length, i) => {
        const prompt = Uint32Array.of(...beginning, ...tokens(length, 2 + i));
        const maximumResponse = Math.min(12, maxPositions - prompt.length);
        return [0, 1, 2].map((n) => ({
          ...{ ...plain, prompt, maximumResponse },
          ...{ sequenceId: 3 * i + n, promptLogProbs: n === 2 },
        }));
      });
      const expected = await alone(model, wanted);
      // Whole prompts in a pass, and passes that end within one.
      for (const tokensPerPass of [8192, 64, 20, 7]) {
        Object.defineProperty(model, "tokensPerPass", { value: tokensPerPass, configurable: true });
        const options = { slots: 9, stepsBetweenReadbacks: 4 };
        const found = await withSampler(model, options, async (sampler) => {
          const asked = wanted.map((one) => ask(sampler, one).response);
          await finish(sampler);
          return await Promise.all(asked);
        });
        assert.deepEqual(found.map(content), expected.map(content), `${tokensPerPass} tokens`);
        assert.deepEqual(found.map(({ prompt }) => prompt), expected.map(({ prompt }) => prompt));
      }
    } finally {
      model.release();
    }
  });
}
