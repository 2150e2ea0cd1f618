import assert from "node:assert/strict";
import { forwardSequences } from "../../../src/engine/training/forward.ts";
import { ropeTable } from "../../../src/kernels/attention/rope_table.ts";
import { ropeAngles } from "../../../src/model/decoder/rope_scaling.ts";
import { Rotations } from "../../../src/model/decoder/rotations.ts";
import { ask, finish, plain, tokensOf, withSampler } from "../../engine/sampling/wanted.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { tinyConfig, tinyModel } from "../tiny_model.ts";

const config = { ...tinyConfig, maxPositions: 1_000_000_000 };

onEveryGpu("rotations: as many positions as are needed, with the same bits", async (gpu) => {
  const { headDim, kinds: [{ rotation }] } = config;
  const before = gpu.pool.liveBytes;
  const rotations = Rotations.create(gpu, config);
  const whole = ropeTable(gpu, 6000, ropeAngles(headDim, rotation));
  try {
    assert.ok(gpu.pool.liveBytes - before < 1e6);
    const expected = await gpu.readFloats(whole);
    const [first] = rotations.tables;
    assert.equal(rotations.upTo(rotation, first.shape[0]), first);
    gpu.scope(() => rotations.upTo(rotation, 6000));
    const copy = rotations.copy();
    for (const { tables: [table] } of [rotations, copy]) {
      assert.ok(table.shape[0] >= 6000);
      const found = await gpu.readFloats(table);
      assert.deepEqual(found.subarray(0, expected.length), expected);
    }
    copy.release();
  } finally {
    rotations.release();
    gpu.release(whole);
  }
  const few = Rotations.create(gpu, { ...config, maxPositions: 40 });
  assert.equal(few.upTo(rotation, 64).shape[0], 40);
  few.release();
});

onEveryGpu("rotations: a sampler and training go beyond the first positions", async (gpu) => {
  const model = tinyModel(gpu, { trained: false, config: { ...config, layers: 1 } });
  try {
    const prompt = tokensOf(4090, 1);
    await withSampler(model, { slots: 1, stepsBetweenReadbacks: 16 }, async (sampler) => {
      const { response } = ask(sampler, { ...plain, prompt, maximumResponse: 12 });
      await finish(sampler);
      const { tokens, logProbs } = await response;
      const sequence = {
        tokens: Uint32Array.of(...prompt, ...tokens.subarray(0, -1)),
        targets: tokens,
        first: prompt.length - 1,
      };
      const options = { microBatchTokens: 8192, sharePrompts: true };
      const [again] = await forwardSequences(model, [sequence], options);
      assert.deepEqual(again.logProbs, logProbs);
    });
  } finally {
    model.release();
  }
});
