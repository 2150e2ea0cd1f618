/**
 * Every family against what transformers computes in float64 with models of odd shapes
 * (tests/fixtures/dump_families.py).
 */

import assert from "node:assert/strict";
import { backward } from "../../../src/model/decoder/backward.ts";
import { forwardForTraining } from "../../../src/model/decoder/forward.ts";
import { headBackward, headForward, headLogits } from "../../../src/model/decoder/head.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { families, familyModel, familyNumbers, familySequences } from "../families.ts";
import { largestDifference, readGradients } from "../fixture.ts";
import { packSequences } from "../pack_sequences.ts";

/**
 * Float32 sums of a few hundred terms round by some 1e-6 of the largest; PyTorch's own float32 is off by up to 1e-5 of
 * these logits.
 */
const BOUND = 1e-5;

const largest = (numbers: Float32Array) => numbers.reduce((a, x) => Math.max(a, Math.abs(x)), 0);

for (const name of Object.keys(families.models)) {
  onEveryGpu(`families: ${name} computes what transformers does`, async (gpu) => {
    const model = familyModel(gpu, name, { trained: true });
    const V = model.config.vocabularySize, stride = Math.ceil(V / 4) * 4;
    const sequences = familySequences(V);
    const T = sequences.reduce((sum, { length }) => sum + length, 0);
    const targets = sequences.flatMap((tokens) => [...tokens.subarray(1), -1]);
    const count = targets.filter((target) => target >= 0).length;
    try {
      const [logits] = gpu.scope(() => {
        const batch = packSequences(gpu, sequences);
        const made = forwardForTraining(model, batch);
        const logits = headLogits(model, made.hidden);
        const target = gpu.from(Uint32Array.from(targets, (t) => Math.max(0, t)), [T], "u32");
        const head = headForward(model, made.hidden, target, 1);
        const dLogProbs = gpu.from(
          Float32Array.from(targets, (t) => t < 0 ? 0 : -1 / count),
          [T],
          "f32",
        );
        const dEntropy = gpu.zeros([T], "f32", "entropy gradient");
        const dHidden = headBackward(model, made.hidden, target, 1, head, dLogProbs, dEntropy);
        Array.from(backward(model, batch, made, dHidden));
        return [logits];
      }, (kept) => kept);
      const padded = await gpu.readFloats(logits);
      gpu.release(logits);
      const found = Float32Array.from(
        { length: T * V },
        (_, i) => padded[Math.floor(i / V) * stride + i % V],
      );
      const expected = familyNumbers(`${name}.logits`);
      const error = largestDifference(found, expected);
      assert.ok(error <= BOUND * Math.max(1, largest(expected)), `logits differ by ${error}`);
      const gradients = await readGradients(model);
      let worst = 0;
      const whole = Math.max(
        ...Object.keys(gradients).map((tensor) => largest(familyNumbers(`${name}.grad.${tensor}`))),
      );
      for (const [tensor, gradient] of Object.entries(gradients)) {
        const expected = familyNumbers(`${name}.grad.${tensor}`);
        // Without a rotation a key's bias moves all scores of a query alike: its gradient is 0 but for rounding.
        const isZero = largest(expected) < 1e-12;
        const error = largestDifference(gradient, expected) / (isZero ? whole : largest(expected));
        worst = Math.max(worst, error);
        assert.ok(error <= BOUND, `the gradient of ${tensor} differs by ${error} of its largest`);
      }
      console.log(`${name}: logits ${error.toExponential(1)}, gradients ${worst.toExponential(1)}`);
    } finally {
      model.release();
    }
  });
}
