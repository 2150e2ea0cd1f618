import assert from "node:assert/strict";
import fc from "fast-check";
import {
  countGeneratorSteps,
  generatorStepsAfterWarmup,
  initialPosition,
  nextStep,
  positionAfter,
  type TangoPosition,
  type TangoScheduleOptions,
  type TangoStep,
} from "../../../src/rl/schedule/tango_schedule.ts";

const SMALL: TangoScheduleOptions = {
  totalTrainingSteps: 13,
  generatorWarmupSteps: 2,
  verifierWarmupSteps: 3,
  generatorSteps: 3,
  verifierSteps: 1,
  testFrequency: 3,
  saveFrequency: 4,
};

function runFrom(options: TangoScheduleOptions, start: TangoPosition): TangoStep[] {
  const steps: TangoStep[] = [];
  let position = start;
  for (let step; (step = nextStep(options, position)) !== null;) {
    steps.push(step);
    position = positionAfter(options, position, step);
  }
  return steps;
}

const run = (options: TangoScheduleOptions) => runFrom(options, initialPosition());

Deno.test("generator warm-up, verifier warm-up, then cycles", () => {
  const phases = run(SMALL).map((step) => step.phase === "generator" ? "G" : "V").join("");
  assert.equal(phases, "GG" + "VVV" + "GGGV" + "GGGV");
});

Deno.test("evaluation and saving fall due where they should", () => {
  const steps = run(SMALL);
  const due = (key: "evaluateBefore" | "evaluateAfter" | "saveAfter") =>
    steps.filter((step) => step[key]).map((step) => step.globalStep);
  assert.deepEqual(due("evaluateBefore"), [1]);
  // Generator steps 3 and 6 are steps 6 and 10; 5 ends the warm-up and 13 the run.
  assert.deepEqual(due("evaluateAfter"), [5, 6, 10, 13]);
  // Generator steps 4 and 8 are steps 7 and 12.
  assert.deepEqual(due("saveAfter"), [1, 5, 7, 12, 13]);
});

Deno.test("evaluation by verifier steps comes besides that by generator steps", () => {
  const dueIn = (options: TangoScheduleOptions) =>
    run(options).filter(({ evaluateAfter }) => evaluateAfter).map(({ globalStep }) => globalStep);
  // Verifier steps 2 and 4 are steps 4 and 9; the others as without.
  assert.deepEqual(dueIn({ ...SMALL, verifierTestFrequency: 2 }), [4, 5, 6, 9, 10, 13]);
  assert.deepEqual(dueIn({ ...SMALL, verifierTestFrequency: 0 }), dueIn(SMALL));
  assert.deepEqual(dueIn({ ...SMALL, verifierTestFrequency: 2, testFrequency: 0 }), []);
  // A generator that is not trained has a curve too.
  const still = { ...SMALL, generatorWarmupSteps: 0, generatorSteps: 0, totalTrainingSteps: 7 };
  assert.deepEqual(dueIn({ ...still, verifierTestFrequency: 2 }), [2, 3, 4, 6, 7]);
});

Deno.test("frequency 0 switches evaluation and saving off", () => {
  const steps = run({ ...SMALL, testFrequency: 0, saveFrequency: 0 });
  assert.ok(!steps.some((step) => step.evaluateBefore || step.evaluateAfter || step.saveAfter));
});

Deno.test("alpha steps count from the end of the generator warm-up", () => {
  const cycle = run(SMALL).filter((step) => step.phase === "generator");
  assert.deepEqual(cycle.map((step) => step.alphaStep), [-2, -1, 0, 1, 2, 3, 4, 5]);
  assert.equal(generatorStepsAfterWarmup(SMALL), 6);
});

Deno.test("the published run: 440 steps, 40 verifier warm-up, then 3 : 1", () => {
  const published = {
    ...SMALL,
    totalTrainingSteps: 440,
    generatorWarmupSteps: 0,
    verifierWarmupSteps: 40,
  };
  const steps = run(published);
  assert.equal(steps.filter((step) => step.phase === "generator").length, 300);
  assert.equal(steps.filter((step) => step.phase === "verifier").length, 140);
  assert.equal(generatorStepsAfterWarmup(published), 300);
});

Deno.test("fewer steps than the warm-ups' cut the schedule short", () => {
  const phases = (totalTrainingSteps: number) =>
    run({ ...SMALL, totalTrainingSteps }).map(({ phase }) => phase[0]).join("");
  assert.deepEqual([1, 2, 3, 4].map(phases), ["g", "gg", "ggv", "ggvv"]);
  const cut = { ...SMALL, totalTrainingSteps: 4 };
  assert.equal(generatorStepsAfterWarmup(cut), 0);
  assert.equal(countGeneratorSteps(cut), 2);
  // The last step is evaluated and saved as ever.
  assert.ok(run(cut).at(-1)?.evaluateAfter && run(cut).at(-1)?.saveAfter);
});

Deno.test("schedules that cannot work are refused", () => {
  const bad: Partial<TangoScheduleOptions>[] = [
    { totalTrainingSteps: 1.5 },
    { generatorWarmupSteps: -1 },
    { generatorSteps: 0, verifierSteps: 0 },
  ];
  for (const change of bad) assert.throws(() => run({ ...SMALL, ...change }), /^Error: schedule/);
});

const options = fc.record({
  totalTrainingSteps: fc.nat(28),
  generatorWarmupSteps: fc.nat(4),
  verifierWarmupSteps: fc.nat(4),
  generatorSteps: fc.nat(3),
  verifierSteps: fc.nat(3),
  testFrequency: fc.nat(4),
  saveFrequency: fc.nat(4),
}).filter((all) => all.generatorSteps + all.verifierSteps > 0);

Deno.test("property: a run resumed from any saved position goes on as if never stopped", () => {
  fc.assert(fc.property(options, fc.nat(), (all, pick) => {
    const whole = run(all);
    const stopAt = whole.length === 0 ? 0 : pick % whole.length;
    let position = initialPosition();
    for (const step of whole.slice(0, stopAt)) position = positionAfter(all, position, step);
    const restored: TangoPosition = JSON.parse(JSON.stringify(position));
    assert.deepEqual(runFrom(all, restored), whole.slice(stopAt));
  }));
});

Deno.test("property: steps add up, and T is the number of generator steps after warm-up", () => {
  fc.assert(fc.property(options, (all) => {
    const steps = run(all);
    assert.equal(steps.length, all.totalTrainingSteps);
    const generator = steps.filter((step) => step.phase === "generator");
    assert.deepEqual(generator.map((step) => step.generatorStep), generator.map((_, i) => i + 1));
    assert.equal(countGeneratorSteps(all), generator.length);
    const afterWarmup = generator.filter(({ stage }) => stage === "cycle").length;
    assert.equal(generatorStepsAfterWarmup(all), afterWarmup);
  }));
});
