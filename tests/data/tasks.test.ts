import assert from "node:assert/strict";
import { arithmeticTask } from "../../src/data/arithmetic.ts";
import { lastLetterTask } from "../../src/data/last_letter.ts";
import { correctSolution, renderCritique, renderSolution } from "../../src/data/solution_text.ts";
import { findTask, taskNames } from "../../src/data/tasks.ts";
import { vocabularyTokens } from "../../src/data/vocabulary.ts";
import { RandomStream, streams } from "../../src/random/philox.ts";
import { parseCritique } from "../../src/rl/text/parse_critique.ts";
import { parseSolution } from "../../src/rl/text/parse_solution.ts";

const WIDE = { minimumSteps: 1, maximumSteps: 6 };
const TRIES = 400;

function uniformOf(sequence: number): () => number {
  const stream = new RandomStream(7, streams.supervision, 0, sequence);
  return () => stream.uniform();
}

function assertSpelt(text: string): void {
  const tags = vocabularyTokens.filter((token) => token.length > 1)
    .sort((a, b) => b.length - a.length);
  const rest = tags.reduce((left, tag) => left.replaceAll(tag, ""), text);
  for (const character of rest) assert.ok(vocabularyTokens.includes(character), text);
}

for (const name of taskNames) {
  const task = findTask(name);

  Deno.test(`${name}: the correct solution is well-formed and judged correct throughout`, () => {
    const seenStepCounts = new Set<number>();
    for (let i = 0; i < TRIES; i++) {
      const problem = task.makeProblem(uniformOf(i), WIDE);
      const text = renderSolution(correctSolution(problem));
      const parsed = parseSolution(text);
      assert.ok(parsed.wellFormed);
      assert.ok(task.isCorrectAnswer(problem, parsed.answer));
      const steps = parsed.steps.map((step) => step.text);
      assert.deepEqual(task.labelSteps(problem, steps), steps.map(() => true));
      const critique = parseCritique(
        renderCritique(task.writeCritique(problem, { steps, answer: parsed.answer })),
      );
      assert.ok(critique.blocksInOrder && critique.verdict === true);
      assert.deepEqual(critique.stepJudgments, steps.map(() => true));
      assertSpelt(problem.question + text);
      seenStepCounts.add(steps.length);
    }
    assert.deepEqual([...seenStepCounts].sort(), [1, 2, 3, 4, 5, 6]);
  });

  Deno.test(`${name}: corrupted solutions are well-formed, wrong somewhere, and judged rightly`, () => {
    const wrongAnswers = new Map<string, number>();
    for (let i = 0; i < TRIES; i++) {
      const uniform = uniformOf(i);
      const problem = task.makeProblem(uniform, WIDE);
      const corrupted = task.corruptSolution(problem, uniform);
      const parsed = parseSolution(renderSolution(corrupted));
      assert.ok(parsed.wellFormed, renderSolution(corrupted));
      const isRight = task.isCorrectAnswer(problem, corrupted.answer);
      const labels = task.labelSteps(problem, corrupted.steps);
      const differs = corrupted.steps.join() !== problem.goldSteps.join() || !isRight;
      assert.ok(differs, `${corrupted.kind} changed nothing in ${problem.question}`);
      const text = renderCritique(task.writeCritique(problem, corrupted));
      const critique = parseCritique(text);
      assert.ok(critique.blocksInOrder && !critique.textBetweenSteps, text);
      assert.equal(critique.verdict, isRight);
      assert.deepEqual(critique.stepJudgments, labels);
      assertSpelt(text);
      for (const [, claim, result, verdict] of text.matchAll(/(.)=(.) \\boxed\{(\w+)\}/g)) {
        assert.equal(claim === result, verdict === "CORRECT", text);
      }
      const before = wrongAnswers.get(corrupted.kind) ?? 0;
      wrongAnswers.set(corrupted.kind, before + (isRight ? 0 : 1));
    }
    assert.ok(wrongAnswers.size >= 6, [...wrongAnswers.keys()].join());
    for (const [kind, count] of wrongAnswers) assert.ok(count > 0, `${kind} is never wrong`);
  });

  Deno.test(`${name}: the same random numbers make the same problem; bad ranges are refused`, () => {
    const make = () => task.makeProblem(uniformOf(3), task.defaultDifficulty);
    assert.deepEqual(make(), make());
    for (const [minimumSteps, maximumSteps] of [[0, 2], [3, 2], [1.5, 2]]) {
      assert.throws(
        () => task.makeProblem(uniformOf(0), { minimumSteps, maximumSteps }),
        /1 <= minimumSteps <= maximumSteps/,
      );
    }
  });
}

Deno.test("last letter: critique of wrong, misspelt, malformed and extra steps by hand", () => {
  const problem = {
    question: "cat dog fish",
    answer: "tgh",
    goldSteps: ["cat:t", "dog:g", "fish:h"],
  };
  const steps = ["cat:a", "dug:g", "fish", "cat:t"];
  const judge = (text: string, index: number) =>
    `<step>${text} \\boxed{${index === 1 ? "CORRECT" : "INCORRECT"}}</step>`;
  // A misspelt word with the right letter counts as right: what is claimed is the letter.
  assert.deepEqual(lastLetterTask.labelSteps(problem, steps), [false, true, false, false]);
  assert.equal(
    renderCritique(lastLetterTask.writeCritique(problem, { steps, answer: "tgh" })),
    `<step_verification>${["cat:t=a", "dog:g=g", "fish:h=?", "-:-=t"].map(judge).join("")}` +
      "</step_verification><final_verification>\\boxed{CORRECT}</final_verification>",
  );
});

Deno.test("arithmetic: chains run from left to right modulo 10", () => {
  for (let i = 0; i < 50; i++) {
    const problem = arithmeticTask.makeProblem(uniformOf(i), WIDE);
    let value = Number(problem.question[0]);
    problem.goldSteps.forEach((step, k) => {
      const [operator, operand] = problem.question.slice(1 + 2 * k, 3 + 2 * k);
      const b = Number(operand);
      const exact = operator === "+" ? value + b : operator === "-" ? value - b : value * b;
      const result = ((exact % 10) + 10) % 10;
      assert.equal(step, `${value}${operator}${b}=${result}`);
      value = result;
    });
    assert.equal(problem.answer, String(value));
  }
});

Deno.test("an answer is compared without the space around it; none is never right", () => {
  const problem = { question: "cat", answer: "t", goldSteps: ["cat:t"] };
  assert.equal(lastLetterTask.isCorrectAnswer(problem, " t "), true);
  assert.equal(lastLetterTask.isCorrectAnswer(problem, null), false);
  assert.throws(() => findTask("chess"), /last-letter, arithmetic/);
});
