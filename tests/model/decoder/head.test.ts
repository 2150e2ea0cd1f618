/** The head's gradient from logits that the forward pass kept, and from logits computed again. */

import assert from "node:assert/strict";
import { headBackward, headForward, keptRows } from "../../../src/model/decoder/head.ts";
import { onEveryGpu, randomFloats } from "../../kernels/harness.ts";
import { tinyModel } from "../tiny_model.ts";

const rows = 11;

onEveryGpu(
  "the head's gradients have the same bits, logits kept or computed again",
  async (gpu) => {
    const model = tinyModel(gpu);
    const { hiddenSize, vocabularySize } = model.config;
    const gradients = model.trainable?.gradients;
    assert.ok(gradients && rows <= keptRows(vocabularySize));
    const hidden = gpu.from(randomFloats(rows * hiddenSize, 1), [rows, hiddenSize]);
    const targets = gpu.from(Uint32Array.from({ length: rows }, (_, i) => i), [rows]);
    const slopes = gpu.from(randomFloats(rows, 2), [rows]);
    const found = [];
    for (const forGradient of [false, true]) {
      gradients.forEach((gradient) => gpu.clear(gradient));
      const results = gpu.scope(() => {
        const head = headForward(model, hidden, targets, 0.7, { forGradient });
        assert.equal(head.logits !== undefined, forGradient);
        const dHidden = headBackward(model, hidden, targets, 0.7, head, slopes, slopes, null);
        return [head.logProbs, head.entropy, dHidden];
      }, (kept) => kept);
      found.push(await gpu.readAll([...results, ...gradients]));
      gpu.release(...results);
    }
    assert.deepEqual(found[1], found[0]);
    assert.ok(found[0].slice(0, 3).every((array) => array.some((value) => value !== 0)));
    gpu.release(hidden, targets, slopes);
    model.release();
  },
);
