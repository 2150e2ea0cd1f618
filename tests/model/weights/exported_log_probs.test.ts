/** What a model says of texts once it was written as a GGUF file: as much else as its rounded weights make it, and no more. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { forwardSequences } from "../../../src/engine/training/forward.ts";
import { promptedSequence } from "../../../src/engine/training/sequence.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { ggufModel } from "../../../src/model/weights/gguf_model.ts";
import { loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { writePiecesAtomically } from "../../../src/platform/files/atomic_file.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withFolder } from "../../server/written_run.ts";
import { fewBytePairs } from "./byte_pairs.ts";

const TEXTS = [
  [
    "ann has 7 pens. ann's pal bob has 3 more. bob's pal cid has 2 times as many. how many has cid",
    "<think><step>bob:7+3=10</step><step>cid:10*2=20</step></think><answer>\\boxed{20}</answer>",
  ],
  [
    "dan has 5 cups. dan's pal eve has 4 more. how many has eve",
    "<think><step>eve:5+4=9</step></think><answer>\\boxed{9}</answer>",
  ],
] as const;

const rootMeanSquare = (numbers: readonly number[]) =>
  Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0) / numbers.length);

/** The same numbers in another order. */
function shuffled(numbers: Float32Array, seed: number): Float32Array {
  const random = new RandomStream(seed, 41);
  const result = numbers.slice();
  for (let i = result.length - 1; i > 0; i--) {
    const j = random.integer(i + 1);
    [result[i], result[j]] = [result[j], result[i]];
  }
  return result;
}

onEveryGpu(
  "gguf: log-probs of what was exported are off by what rounding its weights makes",
  async (gpu) => {
    const { model, tokenizer } = await loadModelFolder(gpu, "weights/chains/generator", {
      trained: false,
      storage: "f32",
    });
    const sequences = TEXTS.map((texts) => {
      const [prompt, response] = texts.map((text) => tokenizer.encode(text));
      return promptedSequence(prompt, response);
    });
    const logProbs = async (asked: Model) => {
      const options = { microBatchTokens: 1024, sharePrompts: false };
      const outputs = await forwardSequences(asked, sequences, options);
      return outputs.flatMap(({ logProbs }) => [...logProbs]);
    };
    const weights = await model.parameters.read();
    const before = await logProbs(model);
    await withFolder(async (folder) => {
      for (const type of ["F32", "F16", "Q8_0", "Q4_0"] as const) {
        const path = join(folder, `${type}.gguf`);
        const content = await ggufModel(
          { model, tokenizer: fewBytePairs, stopTokens: [0] },
          type,
          type,
        );
        await writePiecesAtomically({ path, bytes: content.bytes, next: "" }, content.pieces());
        const file = await loadModelFolder(gpu, path, { trained: false, storage: "f32" });
        const after = await logProbs(file.model);
        const rounded = await file.model.parameters.read();
        // Noise of the same size: the errors of each tensor's elements, each at the place of another.
        for (const [seed, [name, values]] of Object.entries(weights).entries()) {
          const errors = shuffled(rounded[name].map((value, i) => value - values[i]), seed);
          rounded[name] = values.map((value, i) => value + errors[i]);
        }
        file.model.parameters.set(rounded);
        const noisy = await logProbs(file.model);
        file.model.release();
        const [found, noise] = [after, noisy].map((of) =>
          rootMeanSquare(of.map((logProb, i) => logProb - before[i]))
        );
        console.log(
          `${type}: off by ${found.toExponential(1)} nats, by noise ${noise.toExponential(1)}`,
        );
        if (type === "F32") assert.equal(found, 0);
        // One draw of noise against one of rounding, over a few dozen tokens that are not independent.
        else {assert.ok(
            found <= 3 * noise && found > 0,
            `${type}: ${found} nats, by noise ${noise}`,
          );}
      }
    });
    model.release();
  },
);
