import assert from "node:assert/strict";
import { generatorFormatScore, verifierFormatScore } from "../../../src/rl/text/format_score.ts";
import { parseCritique } from "../../../src/rl/text/parse_critique.ts";
import { parseSolution } from "../../../src/rl/text/parse_solution.ts";

function solution(stepCount: number, answer: string): string {
  return `<think>${"<step>s</step>".repeat(stepCount)}</think>${answer}`;
}

Deno.test("generator format score", () => {
  const score = (response: string) =>
    generatorFormatScore(parseSolution(response), { minimumSteps: 3 });
  const boxed = "<answer>\\boxed{1}</answer>", bare = "<answer>1</answer>";
  assert.equal(score(solution(3, boxed)), 1);
  assert.equal(score(solution(2, boxed)), 0.6);
  assert.equal(score(solution(0, boxed)), 0.2);
  assert.equal(score(solution(3, bare)), 0.2);
  assert.equal(score(solution(2, bare)), 0);
  assert.equal(score(solution(0, bare)), 0);
  assert.equal(score(solution(3, "")), 0);
  const parsed = parseSolution(solution(1, boxed));
  assert.equal(generatorFormatScore(parsed, { minimumSteps: 1 }), 1);
});

Deno.test("verifier format score", () => {
  const step = "<step>\\boxed{CORRECT}</step>";
  const final = "<final_verification>\\boxed{CORRECT}</final_verification>";
  const critique = (steps: string, end = final) =>
    `<step_verification>${steps}</step_verification>${end}`;
  const score = (response: string, expectedSteps = 2, generatorFormatScore = 1) =>
    verifierFormatScore(parseCritique(response), { expectedSteps, generatorFormatScore });
  assert.equal(score(critique(step + step)), 1);
  assert.equal(score(critique(step + step), 3), 0.2);
  assert.equal(score(critique(step + step), 3, 0.6), 0.2);
  assert.equal(score(critique(step + step), 3, 0.2), 1);
  assert.equal(score(critique(step + "so" + step)), 0.6);
  assert.equal(score(critique(step + "so" + step), 3), 0);
  assert.equal(score(critique(step + "<step>no box</step>")), 0.2);
  assert.equal(score(critique("")), 0.2);
  const malformed = "<final_verification>yes</final_verification>";
  assert.equal(score(critique(step + step, malformed)), 0.2);
  assert.equal(score(critique(step + step) + " and more"), 0);
  assert.equal(score("nothing"), 0);
});
