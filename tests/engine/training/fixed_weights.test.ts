/** Numbers of a model that no update changes. About a second. */

import assert from "node:assert/strict";
import type { ExpertsKind } from "../../../src/model/decoder/config.ts";
import { initialise } from "../../../src/model/decoder/initialise.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { adamwNumbers, tinyConfig } from "../../model/tiny_model.ts";
import { batches, clippedLoss, withTraining } from "./small_training.ts";

onEveryGpu(
  "fixed weights: neither a gradient nor decay changes the bias of a choice",
  async (gpu) => {
    const [dense] = tinyConfig.kinds;
    const experts: ExpertsKind = {
      ...{ count: 8, chosen: 3, innerSize: 20, scores: "sigmoid", biased: true },
      ...{ normalised: true, scale: 1, shared: false },
    };
    const config = { kinds: [{ ...dense, experts }, dense] };
    for (const storage of [undefined, "bf16"] as const) {
      const training = { microBatchTokens: 4096, shards: 1 };
      await withTraining(gpu, { config, storage }, training, async (trainer) => {
        const { model, model: { parameters } } = trainer;
        initialise(model, 3, 0.3);
        const name = "model.layers.0.mlp.expert_bias";
        const bias = Float32Array.from({ length: 8 }, (_, e) => e / 8 - 0.3);
        parameters.set({ [name]: bias });
        trainer.optimizer.weightsTaken();
        const before = await parameters.read();
        assert.deepEqual(before[name], bias);
        for (let step = 0; step < 2; step++) {
          await trainer.forwardBackward(batches[step], clippedLoss);
          const { nonFinite } = await trainer.optimStep(adamwNumbers(0.1, { weightDecay: 0.5 }));
          assert.equal(nonFinite, 0);
        }
        const after = await parameters.read();
        assert.deepEqual(after[name], bias);
        for (const changed of ["model.layers.0.mlp.gate.weight", "model.norm.weight"]) {
          assert.notDeepEqual(after[changed], before[changed], changed);
        }
      });
    }
  },
);
