import assert from "node:assert/strict";
import { type Paint, sampleText } from "../../src/cli/sample_text.ts";
import type { Sample } from "../../src/run/store/samples_log.ts";

const named: Paint = (colour, text) => `<${colour}>${text}</${colour}>`;

const sample: Sample = {
  step: 7,
  phase: "generator",
  version: 4,
  problem: "cat dog",
  referenceAnswer: "tg",
  solution: "the solution",
  steps: ["cat:t", "dog:o"],
  answer: "to",
  correct: false,
  critiques: [{ version: 2, text: "the critique", stepJudgments: [true, false], verdict: true }],
  rewards: { ground_truth: 0, outcome: 0 },
  stepRewards: [0.5, -0.5],
  outcomeAdvantage: -1,
  stepAdvantages: [-0.75, -1.25],
};

Deno.test("sample text: steps coloured by judgment, with rewards and advantages", () => {
  assert.equal(
    sampleText(sample, named, false),
    [
      "<bold>step 7, generator</bold>",
      "problem    cat dog",
      "  <green>✓ cat:t</green><dim>   reward +0.50, advantage -0.75</dim>",
      "  <red>✗ dog:o</red><dim>   reward -0.50, advantage -1.25</dim>",
      "answer     to, <red>wrong: it is tg</red>",
      "verifier   <red>CORRECT</red>",
      "rewards    ground_truth +0.00, outcome +0.00, advantage -1.00",
    ].join("\n"),
  );
  assert.match(sampleText(sample, named, true), /the solution.*\n.*the critique/);
});

Deno.test("sample text: a critique of another number of steps judges none of them", () => {
  const critiques = [{
    version: 2,
    text: "",
    stepJudgments: [true],
    verdict: null,
    reward: 0,
    advantage: -0.5,
  }];
  const text = sampleText({ ...sample, critiques, answer: null }, named, false);
  assert.match(text, /<yellow>\? cat:t<\/yellow>/);
  assert.match(text, /answer {5}none, /);
  assert.match(
    text,
    /<yellow>no verdict<\/yellow>, judged 1 of 2 steps, reward \+0\.00, advantage -0\.50/,
  );
});
