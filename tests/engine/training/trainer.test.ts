/** The trainer's verbs on a small model: every loss and its gradient, and what adds up to what. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Loss, LossOutputs, SampledSequence } from "../../../src/engine/training/losses.ts";
import { forwardSequences } from "../../../src/engine/training/forward.ts";
import { promptedSequence } from "../../../src/engine/training/sequence.ts";
import type { Trainer } from "../../../src/engine/training/trainer.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import {
  clippedSurrogate,
  importanceSampling,
  klEstimate,
  type SurrogateTerm,
} from "../../kernels/losses/policy_loss_reference.ts";
import { assertSlopes } from "../../model/slopes.ts";
import { readGradients } from "../../model/fixture.ts";
import { adamwNumbers, tinyConfig, tinyModel, tinyTrainer } from "../../model/tiny_model.ts";

const random = new RandomStream(31, 97);
const tokens = (length: number) =>
  Uint32Array.from({ length }, () => random.integer(tinyConfig.vocabularySize));
const floats = (length: number, middle: number, size: number) =>
  Float32Array.from({ length }, () => middle + size * (2 * random.uniform() - 1));

/** Neighbours that share a prompt, one sequence every token of which predicts, and weights of 0 among others. */
function sequences(): SampledSequence[] {
  const shared = tokens(6);
  const plain = [
    promptedSequence(shared, tokens(5)),
    promptedSequence(shared, tokens(9)),
    promptedSequence(tokens(1), tokens(4)),
    // As the clients of a training server have it: what each position predicts is said apart.
    { tokens: tokens(7), targets: tokens(7), first: 0 },
  ];
  return plain.map((sequence) => {
    const R = sequence.targets.length;
    return {
      ...sequence,
      weights: floats(R, 0.1, 0.05).map((weight, i) => i % 4 === 1 ? 0 : weight),
      // Never near a clip bound, where a finite difference would trip over the kink.
      oldLogProbs: new Float32Array(R),
      advantages: floats(R, 0.3, 1),
      refLogProbs: floats(R, -4, 0.5),
    };
  });
}

const clip = { clipRatioLow: 0.2, clipRatioHigh: 0.28 };
const extras = {
  kl: { coefficient: 0.2, estimator: "k3", reference: null },
  entropyCoefficient: 0.05,
} as const;

async function withTrainer(
  gpu: Gpu,
  body: (trainer: Trainer, model: Model, batch: SampledSequence[]) => Promise<void>,
): Promise<void> {
  const model = tinyModel(gpu);
  const trainer = tinyTrainer(model);
  try {
    const batch = sequences();
    // Old log-probs a little off the model's own, or far beyond a bound.
    const own = await trainer.forward(batch);
    batch.forEach(({ oldLogProbs }, s) => {
      own[s].logProbs.forEach((logProb, i) => {
        const draw = 2 * random.uniform() - 1;
        oldLogProbs[i] = logProb + (Math.abs(draw) < 0.5 ? 0.2 * draw : 0.5 * Math.sign(draw));
      });
    });
    await body(trainer, model, batch);
  } finally {
    trainer.release();
    model.release();
  }
}

/** The surrogate of a token in float64; a gspo token has the ratio of its sequence. */
function surrogate(
  { name }: Loss,
  { oldLogProbs, advantages }: SampledSequence,
  logProbs: Float32Array,
  i: number,
): SurrogateTerm {
  const token = { logProb: logProbs[i], oldLogProb: oldLogProbs[i], advantage: advantages[i] };
  if (name === "importance_sampling") return importanceSampling(token);
  if (name !== "gspo") return clippedSurrogate(token, clip);
  const mean = logProbs.reduce((sum, x, j) => sum + x - oldLogProbs[j], 0) / logProbs.length;
  return clippedSurrogate({ ...token, oldLogProb: token.logProb - mean }, clip);
}

/** With one weight and one advantage for all tokens, without which gspo's gradient is no derivative. */
const evenly = (sequence: SampledSequence): SampledSequence => ({
  ...sequence,
  weights: sequence.weights.map(() => 0.1),
  advantages: sequence.advantages.map((_, _i, all) => all[0]),
});

const losses: Loss[] = [
  { name: "cross_entropy" },
  { name: "importance_sampling", ...extras },
  { name: "ppo", ...clip, ...extras },
  { name: "gspo", ...clip, ...extras },
];

for (const loss of losses) {
  onEveryGpu(`trainer: ${loss.name} is the weighted sum of its terms`, async (gpu) => {
    await withTrainer(gpu, async (trainer, _, batch) => {
      const result = await trainer.forwardBackward(batch, loss);
      const alone = await trainer.forward(batch);
      let expected = 0;
      batch.forEach((sequence, s) => {
        const { logProbs, entropies } = result.outputs[s];
        assert.deepEqual({ logProbs, entropies }, alone[s], "the same bits without a gradient");
        sequence.weights.forEach((weight, i) => {
          if (loss.name === "cross_entropy") {
            expected -= weight * logProbs[i];
            return;
          }
          const { value } = surrogate(loss, sequence, logProbs, i);
          const ref = sequence.refLogProbs?.[i] ?? NaN;
          expected += weight *
            (value + 0.2 * klEstimate(logProbs[i], ref, "k3").value - 0.05 * entropies[i]);
        });
      });
      assertClose([result.loss], [expected], {
        absolute: 2e-6,
        relative: 2e-6,
        why: "some thirty terms of size 1, each from an f32 exp that is good to some 1e-7",
      });
    });
  });

  onEveryGpu(`trainer: ${loss.name}'s gradient against finite differences`, async (gpu) => {
    await withTrainer(gpu, async (trainer, model, made) => {
      const batch = loss.name === "gspo" ? made.map(evenly) : made;
      // A learning rate of 0 leaves the weights where they are and the next gradient to begin anew.
      const lossNow = async () => {
        const { loss: sum } = await trainer.forwardBackward(batch, loss);
        await trainer.optimStep(adamwNumbers(0));
        return sum;
      };
      await lossNow();
      const gradients = await readGradients(model);
      const some = Object.entries(gradients).filter((_, i) => i % 5 === 0);
      await assertSlopes(model, Object.fromEntries(some), lossNow, {
        absolute: 1e-4,
        relative: 2e-3,
        why: "the loss, of size 3, is good to about 3e-7, divided by a step of 4e-3",
      });
    });
  });
}

onEveryGpu("trainer: gradients add up over calls until a step applies them", async (gpu) => {
  await withTrainer(gpu, async (trainer, model, batch) => {
    const loss: Loss = { name: "cross_entropy" };
    await trainer.forwardBackward(batch, loss);
    await trainer.forwardBackward(batch, loss);
    const twice = await readGradients(model);
    await trainer.optimStep(adamwNumbers(0));
    await trainer.forwardBackward(batch, loss);
    const once = await readGradients(model);
    for (const [name, gradient] of Object.entries(twice)) {
      const largest = Math.max(...gradient.map(Math.abs));
      assertClose(gradient, once[name].map((slope) => 2 * slope), {
        absolute: 1e-6 * largest,
        relative: 0,
        why: "the same terms in f32, added to what is there",
      });
    }
    // Without a gradient, a step moves nothing; it decays what decays.
    await trainer.optimStep(adamwNumbers(0));
    const { gradientNorm, nonFinite } = await trainer.optimStep(adamwNumbers(0.1));
    assert.deepEqual([gradientNorm, nonFinite], [0, 0]);
    assert.equal(trainer.optimizer.step, 3);
  });
});

onEveryGpu(
  "trainer: weights of 0 give no loss and no gradient, whatever else is said",
  async (gpu) => {
    await withTrainer(gpu, async (trainer, model, batch) => {
      const nothing = batch.map((sequence) => ({
        ...sequence,
        weights: sequence.weights.map(() => 0),
        advantages: sequence.advantages.map(() => NaN),
      }));
      for (const loss of losses) {
        assert.equal((await trainer.forwardBackward(nothing, loss)).loss, 0);
        for (const gradient of Object.values(await readGradients(model))) {
          assert.ok(gradient.every((slope) => slope === 0));
        }
      }
    });
  },
);

onEveryGpu(
  "trainer: a reference model or its log-probs, given, are the same to the last bit",
  async (gpu) => {
    await withTrainer(gpu, async (trainer, model, batch) => {
      const reference = tinyModel(gpu, { seed: 2, trained: false });
      const temperature = 0.7;
      const run = async (
        sequences: readonly SampledSequence[],
        kl: { reference: Model | null; estimator: "k2"; coefficient: number },
      ): Promise<[LossOutputs<Loss>[], Record<string, Float32Array>]> => {
        const loss = { name: "ppo", ...clip, kl, entropyCoefficient: 0 } as const;
        const { outputs } = await trainer.forwardBackward(sequences, loss, temperature);
        const gradients = await readGradients(model);
        await trainer.optimStep(adamwNumbers(0));
        return [[...outputs], gradients];
      };
      const kl = { estimator: "k2", coefficient: 0.5 } as const;
      const whole = await run(batch, { ...kl, reference });
      const ref = await forwardSequences(reference, batch, trainer.options, temperature);
      const given = batch.map((one, s) => ({ ...one, refLogProbs: ref[s].logProbs }));
      assert.deepEqual(await run(given, { ...kl, reference: null }), whole);
      const without = batch.map((one) => ({ ...one, refLogProbs: undefined }));
      await assert.rejects(run(without, { ...kl, reference: null }), /refLogProbs/);
      reference.release();
    });
  },
);

onEveryGpu(
  "trainer: sequences that the model cannot take are refused before anything is computed",
  async (gpu) => {
    const model = tinyModel(gpu, { config: { maxPositions: 8 } });
    const trainer = tinyTrainer(model);
    const sequence = (length: number) => ({
      ...promptedSequence(Uint32Array.of(1, 2, 3), new Uint32Array(length).fill(4)),
      weights: new Float32Array(length).fill(1),
    });
    const loss = { name: "cross_entropy" } as const;
    await assert.rejects(trainer.forwardBackward([sequence(5), sequence(6)], loss), {
      name: "UserError",
      message: /9 tokens and the model 8 positions/,
    });
    const beyond = { ...sequence(3), first: 5 };
    await assert.rejects(trainer.forward([beyond]), /cannot make 3 predictions from 5 on/);
    const unknown = promptedSequence(Uint32Array.of(1, 64), Uint32Array.of(2));
    await assert.rejects(trainer.forward([unknown]), {
      name: "UserError",
      message: /token 64 and the model a vocabulary of 64/,
    });
    const target = { ...sequence(3), targets: Uint32Array.of(1, 2, 99) };
    await assert.rejects(trainer.forwardBackward([target], loss), { message: /token 99/ });
    // What predicts nothing is passed over.
    const { outputs, loss: sum } = await trainer.forwardBackward([sequence(0), sequence(2)], loss);
    assert.deepEqual(outputs.map(({ logProbs }) => logProbs.length), [0, 2]);
    assert.ok(sum > 0);
    trainer.release();
    model.release();
  },
);

onEveryGpu("trainer: numbers that are not there for each prediction are refused", async (gpu) => {
  await withTrainer(gpu, async (trainer, _, batch) => {
    const refused = async (loss: Loss, changes: Partial<SampledSequence>, message: RegExp) => {
      const changed = batch.map((one, s) => s === 1 ? { ...one, ...changes } : one);
      await assert.rejects(trainer.forwardBackward(changed, loss), { message });
    };
    const [crossEntropy, , ppo] = losses;
    const { length: R } = batch[1].targets;
    // As many numbers in all as there are predictions, but not one for each.
    const short = { weights: batch[1].weights.subarray(1) };
    const longer = Float32Array.of(...batch[2].weights, 1);
    const shifted = batch.map((one, s) =>
      s === 1 ? { ...one, ...short } : s === 2 ? { ...one, weights: longer } : one
    );
    await assert.rejects(trainer.forwardBackward(shifted, crossEntropy), {
      message: `cross_entropy needs weights for each of a sequence's ${R} predictions, found ${
        R - 1
      }`,
    });
    const none = new Float32Array();
    await refused(ppo, { oldLogProbs: none }, /ppo needs oldLogProbs .* found 0/);
    await refused(ppo, { advantages: none }, /advantages/);
    await refused(ppo, { refLogProbs: undefined }, /refLogProbs .* found none/);
    // What a loss does not need may be anything.
    await trainer.forwardBackward([{ ...batch[1], advantages: none }], crossEntropy);
  });
});

for (const shards of [1, 4]) {
  onEveryGpu(
    `trainer: of a call that fails nothing is applied, ${shards} shard(s)`,
    async (gpu) => {
      const model = tinyModel(gpu);
      const trainer = tinyTrainer(model, { shards, microBatchTokens: 12 });
      const { readAll } = gpu;
      const batch = sequences();
      const loss: Loss = { name: "cross_entropy" };
      /** The second pass of a batch is not read. */
      const fail = async () => {
        let passes = 0;
        gpu.readAll = (tensors) => {
          if (++passes === 2) return Promise.reject(new Error("the GPU had a bad day"));
          return readAll.call(gpu, tensors);
        };
        await assert.rejects(trainer.forwardBackward(batch, loss), /a bad day/);
        gpu.readAll = readAll;
      };
      try {
        await trainer.forwardBackward(batch, loss);
        const expected = await readGradients(model);
        await trainer.optimStep(adamwNumbers(0));
        // Half a batch is forgotten: without another there is no gradient.
        await fail();
        const { gradientNorm } = await trainer.optimStep(adamwNumbers(0));
        assert.equal(gradientNorm, 0);
        await fail();
        await trainer.forwardBackward(batch, loss);
        assert.deepEqual(await readGradients(model), expected);
        // With it went what another call had added, which is not passed over in silence.
        await fail();
        await trainer.forwardBackward(batch, loss);
        const { step } = trainer.optimizer;
        await assert.rejects(trainer.optimStep(adamwNumbers(0)), /Gradients were lost/);
        assert.equal(trainer.optimizer.step, step);
        await trainer.forwardBackward(batch, loss);
        assert.deepEqual(await readGradients(model), expected);
        await trainer.optimStep(adamwNumbers(0));
      } finally {
        gpu.readAll = readAll;
        trainer.release();
        model.release();
      }
    },
  );
}
