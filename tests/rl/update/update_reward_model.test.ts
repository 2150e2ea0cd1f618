/** How a reward model learns: the gradient against differences of the loss, and bits that no cut changes. */

import assert from "node:assert/strict";
import { crossEntropyOf, logitOf } from "../../../src/rl/reward/solution_score.ts";
import { logProbsOf, updateRewardModel } from "../../../src/rl/update/update_reward_model.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import { readGradients } from "../../model/fixture.ts";
import { assertSlopes } from "../../model/slopes.ts";
import { adamw, nowhere, sampled, withPolicies, withTrainer } from "./sampled_policies.ts";

const passes = { microBatchTokens: 8192, sharePrompts: true };

onEveryGpu(
  "reward model: gradients against finite differences of the cross-entropy",
  async (gpu) => {
    await withPolicies(gpu, async (model, reference, trainer) => {
      const samples = await sampled(model, nowhere);
      const engine = { model, reference, trainer };
      for (const hasReference of [true, false]) {
        // With a reference a text each, without one pairs of texts against each other.
        const factors = hasReference ? [0.7] : [1, -1];
        const texts = samples.slice(0, 2 * Math.floor(samples.length / 2));
        const solutions = Array.from({ length: texts.length / factors.length }, (_, s) => ({
          texts: factors.map((factor, f) => ({ ...texts[factors.length * s + f], factor })),
          isCorrect: s % 3 === 0,
          weight: 0.5 + s % 2,
        }));
        const compute = { passes, hasReference };
        const update = () =>
          updateRewardModel(compute, engine, solutions, { miniBatches: 1, epochs: 1 }, adamw(0));
        const { loss } = await update();
        const gradients = await readGradients(model);

        // The same loss, one text after another, in float64.
        let sum = 0, weights = 0;
        for (const { texts, isCorrect, weight } of solutions) {
          const { logit } = logitOf(texts, await logProbsOf(compute, engine, texts));
          sum += weight * crossEntropyOf(logit, isCorrect);
          weights += weight;
        }
        assertClose([loss], [sum / weights], {
          absolute: 1e-6,
          relative: 1e-6,
          why: "the same log-probs in f32, of passes that are cut otherwise",
        });

        const lossNow = async () => (await update()).loss;
        await assertSlopes(model, gradients, lossNow, {
          absolute: 3e-4,
          relative: 2e-3,
          why:
            "logits of sums of up to 20 log-probs are good to about 1e-6, divided by a step of 4e-3",
        }, `${factors}`);
      }
    });
  },
);

onEveryGpu(
  "reward model: it learns which of its texts are right, whatever passes are cut",
  async (gpu) => {
    await withPolicies(gpu, async (model, reference) => {
      const samples = await sampled(model, nowhere);
      const solutions = samples.map((sample, i) => ({
        texts: [{ ...sample, factor: 0.5 }],
        isCorrect: i % 2 === 0,
        weight: 1,
      }));
      const before = await model.parameters.read();
      const run = async (microBatchTokens: number) => {
        model.parameters.set(before);
        const compute = { passes: { microBatchTokens, sharePrompts: true }, hasReference: true };
        const losses = await withTrainer(model, { microBatchTokens }, async (trainer) => {
          const told: number[] = [];
          const cut = { miniBatches: 2, epochs: 2 };
          for (let step = 0; step < 6; step++) {
            const engine = { model, reference, trainer };
            const update = await updateRewardModel(compute, engine, solutions, cut, adamw(0.01));
            assert.equal(update.applied.length, 4);
            told.push(update.loss);
          }
          return told;
        });
        return { losses, weights: await model.parameters.read() };
      };
      const whole = await run(8192);
      const [first] = whole.losses, last = whole.losses[whole.losses.length - 1];
      assert.ok(last < 0.1 * first, `${first} -> ${last}`);
      assert.deepEqual(await run(1), whole);
    });
  },
);
