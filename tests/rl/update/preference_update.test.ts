/** Direct preference optimisation: the loss by hand, its gradient against differences, and bits that no cut changes. */

import assert from "node:assert/strict";
import {
  measurePreferences,
  type PreferencePair,
  updatePreferences,
} from "../../../src/rl/update/preference_update.ts";
import { forwardSequences } from "../../../src/engine/training/forward.ts";
import { promptedSequence } from "../../../src/engine/training/sequence.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import { readGradients } from "../../model/fixture.ts";
import { assertSlopes } from "../../model/slopes.ts";
import { adamw, nowhere, sampled, withPolicies, withTrainer } from "./sampled_policies.ts";

/** Pairs of responses of different lengths to prompts of different lengths. */
async function pairsFor(model: Model): Promise<PreferencePair[]> {
  const samples = await sampled(model, nowhere);
  return samples.map(({ prompt, response }, n) => ({
    prompt,
    chosen: response,
    rejected: samples[(n + 1) % samples.length].response,
  }));
}

/** The mean loss of pairs, from log-probs of one sequence after another, in float64. */
async function lossByHand(
  model: Model,
  reference: Model,
  pairs: readonly PreferencePair[],
  beta: number,
): Promise<number> {
  const passes = { microBatchTokens: 1, sharePrompts: false };
  const logProbOf = async (weights: Model, prompt: Uint32Array, response: Uint32Array) => {
    const [{ logProbs }] = await forwardSequences(
      weights,
      [promptedSequence(prompt, response)],
      passes,
    );
    return logProbs.reduce((sum, logProb) => sum + logProb, 0);
  };
  let sum = 0;
  for (const { prompt, chosen, rejected } of pairs) {
    const better = await logProbOf(model, prompt, chosen) -
      await logProbOf(reference, prompt, chosen);
    const worse = await logProbOf(model, prompt, rejected) -
      await logProbOf(reference, prompt, rejected);
    sum += Math.log(1 + Math.exp(-beta * (better - worse)));
  }
  return sum / pairs.length;
}

onEveryGpu("preferences: gradients against finite differences of the loss", async (gpu) => {
  await withPolicies(gpu, async (model, reference, trainer) => {
    const pairs = await pairsFor(model);
    const options = { beta: 0.4, reference };
    const { loss } = await updatePreferences(trainer, pairs, options, adamw(0));
    const gradients = await readGradients(model);
    assertClose([loss], [await lossByHand(model, reference, pairs, options.beta)], {
      absolute: 1e-6,
      relative: 1e-6,
      why: "the same log-probs in f32, of passes that are cut otherwise",
    });
    const lossNow = async () => (await measurePreferences(trainer, pairs, options)).loss;
    await assertSlopes(model, gradients, lossNow, {
      absolute: 3e-4,
      relative: 2e-3,
      why: "margins of sums of 40 log-probs are good to about 1e-6, divided by a step of 4e-3",
    });
  });
});

onEveryGpu(
  "preferences: pairs of equal responses, or a reference that is the model, say nothing",
  async (gpu) => {
    await withPolicies(gpu, async (model, reference, trainer) => {
      const pairs = await pairsFor(model);
      const same = await measurePreferences(trainer, pairs, { beta: 0.4, reference: model });
      assert.deepEqual(same, {
        ...{ loss: Math.log(2), accuracy: 0.5, margin: 0, chosenReward: 0, rejectedReward: 0 },
      });
      const equal = pairs.map((pair) => ({ ...pair, rejected: pair.chosen }));
      const { margin, chosenReward } = await measurePreferences(trainer, equal, {
        beta: 0.4,
        reference,
      });
      assert.equal(margin, 0);
      assert.notEqual(chosenReward, 0);
      await updatePreferences(trainer, equal, { beta: 0.4, reference }, adamw(0));
      const steepest = Object.values(await readGradients(model)).flatMap((
        gradient,
      ) => [...gradient])
        .reduce((most, slope) => Math.max(most, Math.abs(slope)), 0);
      assert.ok(steepest < 1e-6, `${steepest}`);
    });
  },
);

onEveryGpu(
  "preferences: better responses become likelier than worse ones, whatever passes are cut",
  async (gpu) => {
    await withPolicies(gpu, async (model, reference) => {
      const pairs = await pairsFor(model);
      const before = await model.parameters.read();
      const run = async (microBatchTokens: number) => {
        model.parameters.set(before);
        const told = await withTrainer(model, { microBatchTokens }, async (trainer) => {
          const updates = [];
          for (let step = 0; step < 12; step++) {
            updates.push(
              await updatePreferences(trainer, pairs, { beta: 0.3, reference }, adamw(0.01)),
            );
          }
          return updates;
        });
        return { told, weights: await model.parameters.read() };
      };
      const whole = await run(8192);
      const first = whole.told[0], last = whole.told[11];
      assert.ok(last.loss < 0.2 * first.loss, `${first.loss} -> ${last.loss}`);
      assert.equal(last.accuracy, 1);
      assert.ok(Math.abs(last.margin - (last.chosenReward - last.rejectedReward)) < 1e-9);
      assert.deepEqual(await run(1), whole);
    });
  },
);
