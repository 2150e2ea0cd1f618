/**
 * The whole model against numbers dumped from PyTorch in float64 (tests/fixtures/dump_reference.py). Every
 * bound is a multiple of the error that PyTorch makes itself when it runs the same model in float32.
 */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Tensor } from "../../../src/gpu/tensor.ts";
import { type KlEstimator, policyLoss } from "../../../src/kernels/losses/policy_loss.ts";
import { backward } from "../../../src/model/decoder/backward.ts";
import { forwardForTraining, forwardOnly } from "../../../src/model/decoder/forward.ts";
import { headBackward, headForward, headLogits } from "../../../src/model/decoder/head.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { packSequences } from "../pack_sequences.ts";
import { updateSupervised } from "../../../src/rl/update/supervised_update.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import {
  type FixtureName,
  fixtures,
  largestDifference,
  readGradients,
  Reference,
  referenceNumbers,
  withFixture,
} from "../fixture.ts";
import { tinyTrainer } from "../tiny_model.ts";

/** Compares and prints how many times PyTorch's float32 error the largest difference is. */
function compare(
  reference: Reference,
  group: string,
  times: number,
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
): number {
  assertClose(actual, expected, reference.tolerance(group, times));
  return largestDifference(actual, expected) /
    reference.scalars.float32_error[group].max_difference;
}

function report(gpu: Gpu, name: FixtureName, ratios: Record<string, number>): void {
  const list = Object.entries(ratios).map(([what, ratio]) => `${what} ${ratio.toFixed(2)}`);
  console.log(`${name} [${gpu.info.engine}] error / PyTorch's float32 error: ${list.join(", ")}`);
}

/** Compares every parameter's tensor; returns the worst ratio. */
function compareAll(
  reference: Reference,
  group: string,
  times: number,
  actual: Readonly<Record<string, Float32Array>>,
): number {
  assert.deepEqual(new Set(Object.keys(actual)), new Set(reference.parameters));
  return Math.max(
    ...reference.parameters.map((name) => {
      try {
        return compare(reference, group, times, actual[name], reference.floats(`${group}.${name}`));
      } catch (cause) {
        throw new Error(`${group} of ${name}: ${(cause as Error).message}`, { cause });
      }
    }),
  );
}

/** Target of every token; rows without one get token 0 and are ignored. */
function targetsOf(reference: Reference): { targets: Uint32Array; hasTarget: boolean[] } {
  const targets = reference.integers("targets");
  return {
    targets: Uint32Array.from(targets, (target) => Math.max(0, target)),
    hasTarget: Array.from(targets, (target) => target >= 0),
  };
}

const where = (hasTarget: readonly boolean[], values: Float32Array) =>
  values.map((value, t) => hasTarget[t] ? value : 0);

/** The tensors of the policy loss over all T tokens, and the loss itself. */
function policyLossOf(
  model: Model,
  reference: Reference,
  logProbs: Tensor,
  estimator: KlEstimator,
): { logProbGradient: Tensor; entropyGradient: Tensor; statistics: Tensor } {
  const { gpu } = model;
  const { clip_low, clip_high, kl_coef, entropy_coef } = reference.scalars.policy;
  const [T] = logProbs.shape;
  const mask = reference.floats("response_mask");
  const count = mask.reduce((sum, one) => sum + one, 0);
  const input = (name: string) => gpu.from(reference.floats(name), [T], "f32", name);
  const outputs = {
    logProbGradient: gpu.tensor([T], "f32", "log-prob gradient"),
    entropyGradient: gpu.tensor([T], "f32", "entropy gradient"),
    statistics: gpu.tensor([T, 4], "f32", "statistics"),
  };
  policyLoss(
    gpu,
    {
      logProbs,
      oldLogProbs: input("old_log_probs"),
      refLogProbs: input("ref_log_probs"),
      advantages: input("advantages"),
      tokenWeights: gpu.from(mask.map((one) => one / count), [T], "f32", "token weights"),
    },
    outputs,
    {
      objective: "ppo",
      clip: { clipRatioLow: clip_low, clipRatioHigh: clip_high },
      kl: { coefficient: kl_coef, estimator },
      entropyCoefficient: entropy_coef,
    },
  );
  return outputs;
}

for (const name of fixtures) {
  const reference = new Reference(name);

  onEveryGpu(`pytorch: ${name} logits, log-probs, entropy`, async (gpu) => {
    await withFixture(gpu, name, { trained: false }, async (model) => {
      const { targets, hasTarget } = targetsOf(reference);
      const T = targets.length;
      const V = model.config.vocabularySize;
      const stride = Math.ceil(V / 4) * 4;
      const made = gpu.scope(() => {
        const hidden = forwardOnly(model, packSequences(gpu, reference.sequences));
        const logits = headLogits(model, hidden);
        const target = gpu.from(targets, [T], "u32", "targets");
        const { logProbs, entropy } = headForward(model, hidden, target, 1);
        return [hidden, logits, logProbs, entropy];
      }, (kept) => kept);
      const [hidden, padded, logProbs, entropy] = await gpu.readAll(made) as Float32Array[];
      gpu.release(...made);
      const logits = new Float32Array(T * V);
      for (let t = 0; t < T; t++) {
        logits.set(padded.subarray(t * stride, t * stride + V), t * V);
      }
      const last = `hidden.${model.config.layers}`;
      report(gpu, name, {
        hidden: compare(reference, "hidden", 4, hidden, reference.floats(last)),
        logits: compare(reference, "logits", 4, logits, reference.floats("logits")),
        logProbs: compare(
          reference,
          "log_probs",
          4,
          where(hasTarget, logProbs),
          reference.floats("log_probs"),
        ),
        entropy: compare(
          reference,
          "entropy",
          4,
          where(hasTarget, entropy),
          reference.floats("entropy"),
        ),
      });
    });
  });

  onEveryGpu(`pytorch: ${name} cross-entropy, its gradients, ten AdamW steps`, async (gpu) => {
    await withFixture(gpu, name, { trained: true }, async (model) => {
      const { adamw, cross_entropy, adamw_losses, adamw_grad_norms } = reference.scalars;
      const trainer = tinyTrainer(model, { microBatchTokens: 30, sharePrompts: false });
      const numbers = referenceNumbers(reference.scalars);
      // The whole of a sequence but its first token is the response to imitate.
      const samples = reference.sequences.map((sequence) => ({
        prompt: sequence.subarray(0, 1),
        response: sequence.subarray(1),
        weights: new Float32Array(sequence.length - 1).fill(1),
      }));
      const losses: number[] = [];
      const norms: number[] = [];
      let gradientRatio = NaN;
      for (let step = 0; step < adamw.steps; step++) {
        // 30 tokens cut the batch into three passes.
        const update = await updateSupervised(trainer, samples, numbers);
        assert.equal(update.nonFinite, 0);
        losses.push(update.loss);
        norms.push(update.gradientNorm);
        if (step > 0) continue;
        assertClose([update.loss], [cross_entropy], reference.tolerance("log_probs", 1));
        gradientRatio = compareAll(reference, "grad", 4, await readGradients(model));
      }
      trainer.release();
      report(gpu, name, {
        gradients: gradientRatio,
        losses: compare(reference, "adamw_losses", 4, losses, adamw_losses),
        norms: compare(reference, "adamw_grad_norms", 4, norms, adamw_grad_norms),
        // AdamW divides by the root of the second moment: where gradients are small, so is that root,
        // and a rounding error in the gradient becomes a large share of a whole step of 1e-3.
        parameters: compareAll(reference, "after", 16, await model.parameters.read()),
      });
    });
  });

  onEveryGpu(`pytorch: ${name} policy loss and its gradients`, async (gpu) => {
    await withFixture(gpu, name, { trained: true }, async (model) => {
      const { policy } = reference.scalars;
      const mask = reference.floats("response_mask");
      const count = mask.reduce((sum, one) => sum + one, 0);
      const { targets } = targetsOf(reference);
      const made = gpu.scope(() => {
        const batch = packSequences(gpu, reference.sequences);
        const activations = forwardForTraining(model, batch);
        const { hidden } = activations;
        const target = gpu.from(targets, [batch.size], "u32", "targets");
        const head = headForward(model, hidden, target, 1);
        const losses = (["k2", "k3"] as const).map((estimator) =>
          policyLossOf(model, reference, head.logProbs, estimator)
        );
        const { logProbGradient, entropyGradient } = losses[1];
        const dHidden = headBackward(
          model,
          hidden,
          target,
          1,
          head,
          logProbGradient,
          entropyGradient,
          null,
        );
        Array.from(backward(model, batch, activations, dHidden, null));
        return [head.entropy, ...losses.flatMap((loss) => Object.values(loss))];
      }, (kept) => kept);
      const [entropy, ...rest] = await gpu.readAll(made) as Float32Array[];
      gpu.release(...made);
      const mean = (values: ArrayLike<number>) =>
        mask.reduce((sum, one, t) => sum + (one === 1 ? values[t] : 0), 0) / count;
      const ratios: Record<string, number> = {};
      (["k2", "k3"] as const).forEach((kind, k) => {
        const [logProbGradient, entropyGradient, statistics] = rest.slice(3 * k, 3 * k + 3);
        const column = (c: number) => mean(mask.map((_, t) => statistics[4 * t + c]));
        const expected = reference.scalars[kind];
        const entropyMean = mean(entropy);
        const loss = column(0) + policy.kl_coef * column(1) - policy.entropy_coef * entropyMean;
        // Means of 43 tokens whose errors are those of the log-probs.
        const bound = reference.tolerance("log_probs", 1);
        assertClose([column(0), column(1), entropyMean, loss], [
          expected.surrogate,
          expected.kl,
          expected.entropy,
          expected.loss,
        ], bound);
        assertClose([column(3)], [expected.clip_ratio], {
          absolute: 1e-6,
          relative: 0,
          why: "no ratio lies within 1e-4 of a clip bound, so the same tokens are clipped",
        });
        ratios[kind] = Math.max(
          compare(reference, kind, 8, logProbGradient, reference.floats(`${kind}.d_log_probs`)),
          compare(reference, kind, 8, entropyGradient, reference.floats(`${kind}.d_entropy`)),
        );
      });
      ratios.gradients = compareAll(reference, "policy_grad", 4, await readGradients(model));
      report(gpu, name, ratios);
    });
  });
}
