import assert from "node:assert/strict";
import {
  learningRateAt,
  type LearningRateSchedule,
} from "../../../src/rl/schedule/learning_rate.ts";

function rates(schedule: Partial<LearningRateSchedule>, steps: number): number[] {
  const whole = {
    learningRate: 2,
    warmupSteps: 0,
    warmupShare: 0,
    schedule: "constant",
    finalShare: 0,
    totalSteps: steps,
    ...schedule,
  };
  return Array.from(
    { length: steps },
    (_, step) => learningRateAt(whole as LearningRateSchedule, step),
  );
}

Deno.test("learning rate: constant", () => {
  assert.deepEqual(rates({}, 3), [2, 2, 2]);
});

Deno.test("learning rate: the warm-up rises in equal parts and never updates with 0", () => {
  assert.deepEqual(rates({ warmupSteps: 4 }, 6), [0.5, 1, 1.5, 2, 2, 2]);
});

Deno.test("learning rate: the warm-up as a share of all steps, where that is longer", () => {
  assert.deepEqual(rates({ warmupShare: 0.45 }, 10), rates({ warmupSteps: 4 }, 10));
  assert.deepEqual(rates({ warmupSteps: 5, warmupShare: 0.2 }, 10), rates({ warmupSteps: 5 }, 10));
});

Deno.test("learning rate: cosine falls from the peak after the warm-up towards 0", () => {
  const falling = rates({ warmupSteps: 2, schedule: "cosine" }, 12);
  assert.deepEqual(falling.slice(0, 3), [1, 2, 2]);
  // Half of the ten steps after the warm-up are done.
  assert.ok(Math.abs(falling[7] - 1) < 1e-12);
  for (let i = 3; i < 12; i++) assert.ok(falling[i] < falling[i - 1] && falling[i] > 0);
  const after = {
    learningRate: 2,
    warmupSteps: 2,
    warmupShare: 0,
    schedule: "cosine",
    finalShare: 0,
    totalSteps: 12,
  } as const;
  assert.equal(learningRateAt(after, 12), 0);
  assert.equal(learningRateAt(after, 40), 0);
});

Deno.test("learning rate: a warm-up as long as the run", () => {
  assert.deepEqual(rates({ warmupSteps: 2, schedule: "cosine" }, 2), [1, 2]);
});

Deno.test("learning rate: linear and exponential, down to a share of the peak", () => {
  assert.deepEqual(rates({ schedule: "linear" }, 4), [2, 1.5, 1, 0.5]);
  assert.deepEqual(rates({ schedule: "linear", finalShare: 0.5 }, 4), [2, 1.75, 1.5, 1.25]);
  // The reference's factor: r + (1 − r)·exp(−5·progress), with r = 0.1.
  const factor = (progress: number) => 0.1 + 0.9 * Math.exp(-5 * progress);
  const found = rates({ schedule: "exponential", finalShare: 0.1, warmupSteps: 2 }, 7);
  const expected = [1, 2, ...[0, 0.2, 0.4, 0.6, 0.8].map((progress) => 2 * factor(progress))];
  // The same expression in another order, so that it may differ in the last bits.
  found.forEach((rate, i) => assert.ok(Math.abs(rate - expected[i]) < 1e-15, `${i}: ${rate}`));
  const whole = { learningRate: 2, warmupSteps: 0, warmupShare: 0, totalSteps: 4 };
  for (const schedule of ["linear", "cosine", "exponential"] as const) {
    assert.equal(learningRateAt({ ...whole, schedule, finalShare: 0.25 }, 9), 0.5, schedule);
  }
});
