/** A reference in host memory, which lies in the gradients' place while it is asked. */

import assert from "node:assert/strict";
import { HostReference } from "../../../src/engine/training/host_reference.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { updatePolicy } from "../../../src/rl/update/policy_update.ts";
import { onRanks } from "../../distributed/in_process.ts";
import { gradientReducer } from "../../../src/distributed/gradient_reducer.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { readGradients } from "../../model/fixture.ts";
import { tinyModel, tinyTrainer } from "../../model/tiny_model.ts";
import {
  adamw,
  loss,
  nowhere,
  sampled,
  spread,
  withPolicies,
  withTrainer,
} from "./sampled_policies.ts";

onEveryGpu("a reference in host memory gives the bits of one on the GPU", async (gpu) => {
  await withPolicies(gpu, async (model, reference) => {
    const samples = await sampled(model, spread);
    samples[2] = { ...samples[2], isMasked: true };
    const before = await model.parameters.read();
    const onHost = await HostReference.of(reference);
    const options = { ...loss, miniBatches: 2, epochs: 2 };
    const run = (from: Model | HostReference) =>
      withTrainer(model, { shards: 2, microBatchTokens: 30 }, async (trainer) => {
        model.parameters.set(before);
        const metrics = [];
        for (let step = 0; step < 2; step++) {
          metrics.push(await updatePolicy(trainer, from, samples, options, adamw(1e-3)));
        }
        return {
          metrics,
          gradients: await readGradients(model),
          weights: await model.parameters.read(),
        };
      });
    const expected = await run(reference);
    assert.ok(expected.metrics.every(({ kl, gradientNorm }) => kl > 0 && gradientNorm > 0));
    const live = gpu.pool.liveBytes;
    assert.deepEqual(await run(onHost), expected);
    assert.equal(gpu.pool.liveBytes, live, "its memory is the gradients'");
  });
});

onEveryGpu("a bfloat16 policy begins at no distance from its reference on 2 ranks", async (gpu) => {
  const found = await onRanks(2, async (communicator) => {
    const model = tinyModel(gpu, { storage: "bf16" });
    const reducer = gradientReducer(communicator);
    const trainer = tinyTrainer(model, { shards: 2 }, reducer);
    try {
      const reference = await HostReference.of(model);
      const samples = await sampled(model, nowhere);
      const metrics = [];
      for (let step = 0; step < 2; step++) {
        metrics.push(await updatePolicy(trainer, reference, samples, loss, adamw(1e-2)));
      }
      return metrics;
    } finally {
      trainer.release();
      model.release();
    }
  });
  const [[first, second]] = found;
  assert.deepEqual(found[1], found[0]);
  assert.equal(first.kl, 0);
  assert.ok(second.kl > 0);
});

onEveryGpu("gradients that wait for a step are not overwritten", async (gpu) => {
  await withPolicies(gpu, async (model, reference, trainer) => {
    const samples = await sampled(model, nowhere);
    const onHost = await HostReference.of(reference);
    await trainer.forwardBackward([], { name: "cross_entropy" });
    await assert.rejects(
      updatePolicy(trainer, onHost, samples, loss, adamw(1e-3)),
      /memory holds gradients/,
    );
  });
});
