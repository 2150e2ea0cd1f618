import assert from "node:assert/strict";
import fc from "fast-check";
import {
  critiqueSteps,
  disagrees,
  stepJudgments,
  stepParts,
} from "../../../src/server/page/samples/step_parts.ts";
import { groupSamples } from "../../../src/server/page/samples/group_samples.ts";
import { parseCritique } from "../../../src/rl/text/parse_critique.ts";
import { parseSolution } from "../../../src/rl/text/parse_solution.ts";

const critique = (stepJudgments: boolean[], verdict: boolean | null = true) => ({
  version: 0,
  text: "",
  stepJudgments,
  verdict,
});

Deno.test("samples: a solution is cut where its steps are, a repeated or short one too", () => {
  const solution = "step x <think><step>x</step><step>x</step></think><answer>\\boxed{x}</answer>";
  assert.deepEqual(stepParts(solution, ["x", "x"]), [
    { text: "step x <think><step>", step: null },
    { text: "x", step: 0 },
    { text: "</step><step>", step: null },
    { text: "x", step: 1 },
    { text: "</step></think><answer>\\boxed{x}</answer>", step: null },
  ]);
  assert.deepEqual(stepParts("no steps", []), [{ text: "no steps", step: null }]);
  assert.deepEqual(stepParts("", []), []);
});

// Texts of the tags and of anything else, as a policy writes them early in training.
const written = fc.array(
  fc.constantFrom(
    "<think>",
    "</think>",
    "<step>",
    "</step>",
    "<answer>",
    "</answer>",
    "a",
    " b\n",
    "\\boxed{CORRECT}",
    "\\boxed{incorrect}.",
    "<step_verification>",
    "</step_verification>",
    "<final_verification>",
    "</final_verification>",
  ),
  { maxLength: 24 },
).map((parts) => parts.join(""));

Deno.test("samples: no letter is lost or doubled, and every step that a run parsed is found", () => {
  fc.assert(fc.property(written, (solution) => {
    const steps = parseSolution(solution).steps.map(({ text }) => text);
    const parts = stepParts(solution, steps);
    assert.equal(parts.map(({ text }) => text).join(""), solution);
    assert.deepEqual(parts.filter(({ step }) => step !== null).map(({ text }) => text), steps);
  }));
});

Deno.test("samples: a critique has one text for each judgment that a run read in it", () => {
  const text =
    "<step_verification><step>a \\boxed{CORRECT}</step><step>b</step><step>c \\boxed{INCORRECT}." +
    "</step></step_verification><final_verification>\\boxed{CORRECT}</final_verification>";
  assert.deepEqual(critiqueSteps(text), ["a \\boxed{CORRECT}", "c \\boxed{INCORRECT}."]);
  fc.assert(fc.property(written, (inner) => {
    const whole = `<step_verification>${inner.replaceAll(/<\/?(step|final)_verification>/g, "")}` +
      "</step_verification><final_verification>\\boxed{CORRECT}</final_verification>";
    assert.equal(critiqueSteps(whole).length, parseCritique(whole).stepJudgments.length);
  }));
});

Deno.test("samples: judgments belong to steps only where there are as many", () => {
  assert.deepEqual(stepJudgments(2, critique([true, false])), [true, false]);
  assert.deepEqual(stepJudgments(3, critique([true, false])), [null, null, null]);
  assert.deepEqual(stepJudgments(1, undefined), [null]);
});

Deno.test("samples: a verdict that cannot be read agrees with nothing", () => {
  assert(disagrees({ correct: true, critiques: [critique([], true), critique([], false)] }));
  assert(disagrees({ correct: false, critiques: [critique([], null)] }));
  assert(!disagrees({ correct: true, critiques: [critique([], true)] }));
  assert(!disagrees({ correct: true, critiques: [] }));
});

Deno.test("samples: those of one problem stand together, in the order of the problems", () => {
  const sample = (problem: string, step: number) => ({
    step,
    phase: "generator" as const,
    version: 0,
    problem,
    referenceAnswer: `of ${problem}`,
    solution: "",
    steps: [],
    answer: null,
    correct: false,
    critiques: [],
  });
  const groups = groupSamples([sample("b", 1), sample("a", 1), sample("b", 2)]);
  assert.deepEqual(
    groups.map(({ problem, samples }) => [problem, samples.map(({ step }) => step)]),
    [
      ["b", [1, 2]],
      ["a", [1]],
    ],
  );
});
