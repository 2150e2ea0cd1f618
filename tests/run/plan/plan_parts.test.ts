/** The parts of the cost model against numbers by hand. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { exchangeCost, reductionCost } from "../../../src/run/plan/exchange_cost.ts";
import type { GpuDescription } from "../../../src/run/plan/gpu_description.ts";
import { loadGpuDescription } from "../../../src/run/plan/gpu_description.ts";
import { drawLengths } from "../../../src/run/plan/response_lengths.ts";
import { samplingCost } from "../../../src/run/plan/sampling_cost.ts";
import type { PlannedRun } from "../../../src/run/plan/planned_run.ts";
import {
  generatorStepCost,
  type StepCost,
  verifierStepCost,
} from "../../../src/run/plan/step_cost.ts";
import { colocatedTimeline, splitTimeline } from "../../../src/run/plan/timeline.ts";
import type { PassSize } from "../../../src/run/plan/rehearsed_work.ts";
import { passSizeOf, updateCost } from "../../../src/run/plan/update_cost.ts";
import { type Work, workSeconds } from "../../../src/run/plan/work.ts";

/** Work of so many launches. */
function launches(count: number): Work {
  const none = { flops: 0, bytes: 0, launches: 0 };
  return { products: none, attention: none, other: { ...none, launches: count } };
}

/** Launches take a second each and nothing else takes any time. */
const launchesOnly = { products: Infinity, attention: Infinity, bandwidth: Infinity, launch: 1 };

Deno.test("plan: work takes as long as operations or bytes, kind by kind, and its launches", () => {
  const rates = { products: 100, attention: 10, bandwidth: 1000, launch: 0.5 };
  const work = {
    products: { flops: 400, bytes: 1000, launches: 1 },
    attention: { flops: 10, bytes: 3000, launches: 2 },
    other: { flops: 0, bytes: 500, launches: 3 },
  };
  assert.equal(workSeconds(rates, work), 4 + 3 + 0.5 + 3);
});

Deno.test("plan: sampling counts windows, admissions and the tail", () => {
  const [step, prefill] = [21, 18];
  const work = { prefill: () => launches(prefill), decode: () => launches(step) };
  const response = (length: number) => ({ promptTokens: 6, newTokens: 6, length });
  const settings = { slots: 2, stepsBetweenReadbacks: 4 };
  // Two begin. After two windows the first has ended and the third begins, which takes three.
  const { seconds, ends, tailSeconds } = samplingCost(
    launchesOnly,
    work,
    [5, 16, 9].map(response),
    settings,
  );
  assert.equal(seconds, 2 * prefill + 5 * 4 * step);
  assert.deepEqual(ends, [8, 16, 20].map((steps, i) => steps * step + (i === 0 ? 1 : 2) * prefill));
  // From the end of the second on one of two slots is in use, which is not fewer than half.
  assert.equal(tailSeconds, 0);
  const three = samplingCost(launchesOnly, work, [4, 4, 8].map(response), {
    ...settings,
    slots: 3,
  });
  assert.equal(three.tailSeconds, 4 * step);
});

Deno.test("plan: lengths have the mean that is asked for, and none is too long", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 3000 }),
      fc.double({ min: 0.05, max: 0.98, noNaN: true }),
      fc.integer({ min: 16, max: 400 }),
      (maximum, share, count) => {
        const mean = Math.max(1, share * maximum);
        const lengths = drawLengths({ mean, maximum }, count, 1);
        assert.equal(lengths.length, count);
        assert.ok(lengths.every((length) => length >= 1 && length <= maximum));
        const found = lengths.reduce((sum, length) => sum + length, 0) / count;
        // Lengths are whole numbers, and one step of the scale moves many of them at once.
        assert.ok(Math.abs(found - mean) <= 0.51, `${found} for ${mean}`);
      },
    ),
    { numRuns: 100 },
  );
  for (const mean of [0, NaN, 11]) {
    assert.throws(() => drawLengths({ mean, maximum: 10 }, 4, 1), { name: "UserError" });
  }
});

Deno.test("plan: what a pass has to do, prompts shared and not", () => {
  const groups = [{ promptTokens: 3, lengths: [2, 1] }];
  // Two tokens once, which see 1 and 2; then 3 tokens that see 3, 4, 5, and 2 that see 3 and 4.
  assert.deepEqual(passSizeOf(groups, true), { tokens: 7, pairs: 3 + 12 + 7, predictions: 3 });
  assert.deepEqual(passSizeOf(groups, false), { tokens: 9, pairs: 15 + 10, predictions: 3 });
});

Deno.test("plan: ranks compute neighbouring shards, the last of an uneven cut more", () => {
  const rates = { ...launchesOnly };
  const groups = Array.from({ length: 6 }, () => ({ promptTokens: 3, lengths: [2] }));
  const settings = {
    sharePrompts: true,
    microBatchTokens: 1000,
    shards: 3,
    miniBatches: 1,
    epochs: 1,
  };
  // A launch for each token of a pass, and one of the reference.
  const work = {
    parameters: 1000,
    weightBytes: 4000,
    referenceBytes: 0,
    gradient: ({ tokens }: PassSize) => launches(tokens),
    reference: () => launches(1),
    step: launches(3),
  };
  const cost = (ranks: number) => updateCost(rates, work, groups, settings, ranks);
  // Three shards of two groups of five tokens, each one pass.
  assert.deepEqual(cost(1).gradientSeconds, [33]);
  assert.deepEqual(cost(2).gradientSeconds, [11, 22]);
  assert.deepEqual(cost(3).gradientSeconds, [11, 11, 11]);
  assert.deepEqual([cost(2).optimizerSeconds, cost(2).updates], [3, 1]);
  // Of two ranks one clears the gradients of two shards, 4 bytes, and copies and adds one of them, 20 bytes; of 32
  // bytes of a step each has half.
  const step = { ...work.step, other: { flops: 0, bytes: 32000, launches: 0 } };
  const bytesOnly = { ...launchesOnly, launch: 0, bandwidth: 1 };
  const { optimizerSeconds } = updateCost(bytesOnly, { ...work, step }, groups, settings, 2);
  assert.equal(optimizerSeconds, 16000 + 8000 + 20000);
});

/** 4 GPUs a machine; a machine's memory moves 100 bytes a second, the network 10. */
const gpu: GpuDescription = {
  ...loadGpuDescription("h100"),
  hostRate: 1e9,
  gpusPerMachine: 4,
  machine: { bytesPerSecond: 100, latency: 0 },
  network: { bytesPerSecond: 10, latency: 0 },
};

Deno.test("plan: every rank sends the others its share, the slower way decides", () => {
  assert.deepEqual(exchangeCost(gpu, 1, 800), { seconds: 0, bytesSent: 0 });
  // Three neighbours get 200 bytes each.
  assert.deepEqual(exchangeCost(gpu, 4, 800), { seconds: 6, bytesSent: 600 });
  // Three neighbours and four others get 100 bytes each: 3 s beside 40 s.
  assert.deepEqual(exchangeCost(gpu, 8, 800), { seconds: 40, bytesSent: 700 });
  // Two of four have 400 bytes each for three others.
  assert.deepEqual(exchangeCost(gpu, 4, 800, 2), { seconds: 12, bytesSent: 1200 });
  const bytes = { gradients: 800, weights: 800 };
  assert.deepEqual(reductionCost(gpu, 4, bytes, 2), { seconds: 12 + 6, bytesSent: 1800 });
  // Weights in 16 bits.
  const halves = { gradients: 800, weights: 400 };
  assert.deepEqual(reductionCost(gpu, 4, halves, 2), { seconds: 12 + 3, bytesSent: 1500 });
  // Through the host: 2 · 1200 and 2 · 600 bytes at 50 a second.
  assert.deepEqual(reductionCost({ ...gpu, hostRate: 50 }, 4, bytes, 2).seconds, 48 + 24);
  const far = { ...gpu, network: { bytesPerSecond: Infinity, latency: 2 } };
  // One message to each of four others, four at a time.
  assert.equal(exchangeCost({ ...far, machine: far.network }, 8, 800).seconds, 2);
});

/** A step whose parts take these seconds on each rank; nothing is exchanged but the gradient. */
function step(
  rollout: number[],
  verification: number[],
  gradient: number[],
  continuation?: number[],
): StepCost {
  const exchange = { seconds: 0, bytesSent: 0 };
  const sampling = (seconds: number[]) => ({
    seconds,
    tailSeconds: seconds.map(() => 0),
    firstEnd: 1,
    longestAlone: 2,
    exchange,
  });
  return {
    rollout: sampling(rollout),
    verification: sampling(verification),
    continuation: continuation ? sampling(continuation) : null,
    gradientSeconds: gradient,
    optimizerSeconds: 1,
    reduction: { seconds: 3, bytesSent: 100 },
  };
}

Deno.test("plan: colocated ranks wait for the slowest after every phase", () => {
  const cost = step([4, 6], [5, 5], [7, 3]);
  const timeline = colocatedTimeline([{ phase: "generator", cost }], 2);
  assert.deepEqual(timeline, {
    seconds: 6 + 5 + 7 + 1 + 3,
    idleSeconds: [2, 4],
    exchangeSeconds: 3,
    bytesSent: 100,
  });
});

Deno.test("plan: the generator goes on from the ends of steps when all is judged", () => {
  const cost = step([4, 6], [5, 5], [7, 3], [2, 8]);
  const { seconds, idleSeconds } = colocatedTimeline([{ phase: "generator", cost }], 2);
  assert.equal(seconds, 6 + 5 + 8 + 7 + 1 + 3);
  assert.deepEqual(idleSeconds, [2 + 6, 4]);
  // Sampled 0–6, judged 1–10, gone on with 10–14, updated 14–23.
  const apart = { phase: "generator", cost: step([6], [9], [5], [4]) } as const;
  assert.equal(splitTimeline([apart], { generator: 1, verifier: 1 }).seconds, 23);
  // The verifier's update waits for its pay, and the generator goes on with the next step meanwhile: 14–20, judged from
  // 23 on, when the verifier is free, gone on with 32–36, updated 36–45.
  const paid = { phase: "verifier", cost: step([6], [9], [5], [4]) } as const;
  assert.equal(splitTimeline([paid, apart], { generator: 1, verifier: 1 }).seconds, 45);
});

Deno.test("plan: continuations by hand", () => {
  // A launch for each prompt token that nobody has computed, and nothing else.
  const work = {
    prefill: (tokens: number) => launches(tokens),
    decode: () => launches(0),
    update: {
      parameters: 1,
      weightBytes: 4,
      referenceBytes: 0,
      gradient: () => launches(0),
      reference: null,
      step: launches(0),
    },
  };
  const gpu = { ...loadGpuDescription("h100"), rates: launchesOnly };
  const ranks = { generator: 1, verifier: 1, all: 1 };
  const planned = (steps: number, set: readonly string[]): PlannedRun => {
    const sizes = [
      "rollout.batch_size=2",
      "rollout.group_size=2",
      "rewards.prefix_continuations=2",
    ];
    const config = loadTangoConfig("configs/last-letter.yaml", { set: [...sizes, ...set] });
    // All solutions of 12 tokens.
    const solution = { mean: 12, maximum: 12 };
    const lengths = { problem: 10, judgment: 20, solution, critique: solution, steps };
    return { config, generator: work, verifier: work, lengths, heldOut: 1 };
  };
  const prefix = ["advantage.judgments=prefix"];
  const seconds = (cost: StepCost) => cost.continuation?.seconds;
  // Three steps end after 3, 6 and 9 tokens. Of each first solution 10 + 3 and 3 tokens, of the second 3 and 3, for its
  // question is there; each second continuation computes one: 2 (14 + 4 + 4 + 4).
  assert.deepEqual(seconds(generatorStepCost(gpu, planned(3, prefix), false, ranks)), [52]);
  assert.equal(generatorStepCost(gpu, planned(3, prefix), true, ranks).continuation, null);
  assert.equal(generatorStepCost(gpu, planned(3, []), false, ranks).continuation, null);
  // 1, 2, 1 and 2 steps: of the second solutions one beginning of 4 tokens each, the question being new: 2 (4 + 1).
  assert.deepEqual(seconds(generatorStepCost(gpu, planned(1.5, prefix), false, ranks)), [10]);
  // One solution of each problem, from the last step's end too: 2 (14 + 4 + 4).
  const paid = planned(3, ["rewards.verifier_steps=prefix"]);
  assert.deepEqual(seconds(verifierStepCost(gpu, paid, ranks)), [44]);
  assert.equal(verifierStepCost(gpu, planned(3, prefix), ranks).continuation, null);
});

Deno.test("plan: split ranks judge as solutions end, and the verifier's update overlaps with rollout", () => {
  const generating = { phase: "generator", cost: step([6], [9], [5]) } as const;
  // Sampled 0–6, judged 1–10, updated 10–19.
  const one = splitTimeline([generating], { generator: 1, verifier: 1 });
  assert.equal(one.seconds, 19);
  // At work: 6 + 5 + 1 + 3 and 9.
  assert.deepEqual(one.idleSeconds, [4, 10]);
  assert.equal(one.bytesSent, 50, "the verifier's rank sends nothing");
  // A verification that has little to do still waits for the last solution's longest critique.
  const quick = { phase: "generator", cost: step([6], [1], [5]) } as const;
  assert.equal(splitTimeline([quick], { generator: 1, verifier: 1 }).seconds, 6 + 2 + 9);
  // The verifier's step: sampled 19–25, judged 20–29, updated 29–38 while the generator samples 25–31; then judged
  // from 38 on, when the verifier's ranks are free: 38–47, updated 47–56.
  const judging = { phase: "verifier", cost: step([6], [9], [5]) } as const;
  const three = splitTimeline([generating, judging, generating], { generator: 1, verifier: 1 });
  assert.equal(three.seconds, 56);
});
