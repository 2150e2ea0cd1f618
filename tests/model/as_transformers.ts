/** A model's logits and gradients against those that transformers computed. */

import assert from "node:assert/strict";
import { backward } from "../../src/model/decoder/backward.ts";
import { forwardForTraining } from "../../src/model/decoder/forward.ts";
import { headBackward, headForward, headLogits } from "../../src/model/decoder/head.ts";
import type { Model } from "../../src/model/decoder/model.ts";
import { familyNumbers, familySequences } from "./families.ts";
import { largestDifference } from "./fixture.ts";
import { packSequences } from "./pack_sequences.ts";

/**
 * Float32 sums of a few hundred terms round by some 1e-6 of the largest; PyTorch's own float32 is off by up to 1e-5 of
 * these logits.
 */
const BOUND = 1e-5;

const largest = (numbers: Float32Array) => numbers.reduce((a, x) => Math.max(a, Math.abs(x)), 0);

/** The logits [T, V], and the gradients of the mean cross-entropy in what is trained of the model. */
export async function computed(
  model: Model,
): Promise<{ logits: Float32Array; gradients: Record<string, Float32Array> }> {
  const { gpu } = model;
  const V = model.config.vocabularySize, stride = Math.ceil(V / 4) * 4;
  const sequences = familySequences(V);
  const T = sequences.reduce((sum, { length }) => sum + length, 0);
  const targets = sequences.flatMap((tokens) => [...tokens.subarray(1), -1]);
  const count = targets.filter((target) => target >= 0).length;
  const [logits] = gpu.scope(() => {
    const batch = packSequences(gpu, sequences);
    const made = forwardForTraining(model, batch);
    const logits = headLogits(model, made.hidden);
    const target = gpu.from(Uint32Array.from(targets, (t) => Math.max(0, t)), [T], "u32");
    const head = headForward(model, made.hidden, target, 1);
    const slopes = Float32Array.from(targets, (t) => t < 0 ? 0 : -1 / count);
    const dLogProbs = gpu.from(slopes, [T], "f32");
    const dEntropy = gpu.zeros([T], "f32", "entropy gradient");
    const dHidden = headBackward(model, made.hidden, target, 1, head, dLogProbs, dEntropy, null);
    Array.from(backward(model, batch, made, dHidden, null));
    return [logits];
  }, (kept) => kept);
  const padded = await gpu.readFloats(logits);
  gpu.release(logits);
  const { trainable } = model;
  assert.ok(trainable?.gradients);
  const segments = await gpu.readAll([...trainable.gradients]) as Float32Array[];
  return {
    logits: Float32Array.from(
      { length: T * V },
      (_, i) => padded[Math.floor(i / V) * stride + i % V],
    ),
    gradients: trainable.name(segments),
  };
}

/**
 * Holds logits and gradients of what is trained to the numbers of a file.
 *
 * @param numbers of a fixture, such as `familyNumbers`
 * @param name before the names of the numbers
 */
export async function assertAsTransformers(
  model: Model,
  name: string,
  numbers: (name: string) => Float32Array = familyNumbers,
): Promise<void> {
  const { logits, gradients } = await computed(model);
  const expected = numbers(`${name}.logits`);
  const error = largestDifference(logits, expected);
  assert.ok(error <= BOUND * Math.max(1, largest(expected)), `logits differ by ${error}`);
  const numbersOf = (tensor: string) => numbers(`${name}.grad.${tensor}`);
  const whole = Math.max(...Object.keys(gradients).map((tensor) => largest(numbersOf(tensor))));
  let worst = 0;
  for (const [tensor, gradient] of Object.entries(gradients)) {
    const expected = numbersOf(tensor);
    // Without a rotation a key's bias moves all scores of a query alike: its gradient is 0 but for rounding.
    const isZero = largest(expected) < 1e-12;
    const error = largestDifference(gradient, expected) / (isZero ? whole : largest(expected));
    worst = Math.max(worst, error);
    assert.ok(error <= BOUND, `the gradient of ${tensor} differs by ${error} of its largest`);
  }
  console.log(`${name}: logits ${error.toExponential(1)}, gradients ${worst.toExponential(1)}`);
}
