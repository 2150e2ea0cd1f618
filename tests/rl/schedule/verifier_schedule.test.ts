import assert from "node:assert/strict";
import {
  initialPosition,
  nextStep,
  positionAfter,
  type TangoScheduleOptions,
  type TangoStep,
} from "../../../src/rl/schedule/tango_schedule.ts";

const steps = (options: TangoScheduleOptions): TangoStep[] => {
  const all: TangoStep[] = [];
  let position = initialPosition();
  for (let step; (step = nextStep(options, position)) !== null;) {
    all.push(step);
    position = positionAfter(options, position, step);
  }
  return all;
};

const alone: TangoScheduleOptions = {
  totalTrainingSteps: 11,
  generatorWarmupSteps: 0,
  verifierWarmupSteps: 0,
  generatorSteps: 0,
  verifierSteps: 1,
  testFrequency: 3,
  saveFrequency: 4,
};

const due = (options: TangoScheduleOptions, key: "evaluateAfter" | "saveAfter") =>
  steps(options).filter((step) => step[key]).map(({ globalStep }) => globalStep);

Deno.test("cycles without generator steps are measured and saved by the verifier's", () => {
  assert.ok(steps(alone).every(({ phase }) => phase === "verifier"));
  assert.deepEqual(due(alone, "evaluateAfter"), [3, 6, 9, 11]);
  assert.deepEqual(due(alone, "saveAfter"), [1, 4, 8, 11]);
});

Deno.test("cycles without generator steps: warm-ups count their own steps", () => {
  const warmed = { ...alone, generatorWarmupSteps: 4, verifierWarmupSteps: 2 };
  // Generator step 3, the end of the warm-ups, verifier steps 3 and 5 … and the last step.
  assert.deepEqual(due(warmed, "evaluateAfter"), [3, 6, 7, 10, 11]);
});

Deno.test("with generator steps in the cycles those of the verifier are not counted", () => {
  const both = { ...alone, generatorSteps: 1 };
  // Generator steps 3 and 6 are steps 5 and 11.
  assert.deepEqual(due(both, "evaluateAfter"), [5, 11]);
});
