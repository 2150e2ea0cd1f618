import assert from "node:assert/strict";
import { corruptWork } from "../../src/data/corrupt_work.ts";
import {
  isTerse,
  labelStepsBeside,
  readWorkedResult,
  workedCritique,
} from "../../src/data/worked_critique.ts";
import { wordProblems } from "../../src/data/word_problems/grammar.ts";
import { RandomStream } from "../../src/random/philox.ts";

/** Random numbers from a list, the last one again and again. */
const from = (...values: number[]) => () => values.length > 1 ? values.shift() ?? 0 : values[0];

const right = { steps: ["12+7=19", "19*3=57", "57-8=49"], answer: "49" };

Deno.test("worked critiques: the right step, the claim, and the judgment that follows", () => {
  const given = { steps: ["12-7=5", "5*3=15", "15+34=49", "so"], answer: "15" };
  assert.deepEqual(workedCritique(right, given), {
    steps: [
      { text: "12+7=19, claimed 5", isCorrect: false },
      { text: "19*3=57, claimed 15", isCorrect: false },
      { text: "57-8=49, claimed 49", isCorrect: true },
      { text: "-, claimed so", isCorrect: false },
    ],
    verdict: false,
  });
  const told = { steps: ["Together that is 12 + 7 = 19."], answer: "19" };
  assert.deepEqual(workedCritique(told, told), {
    steps: [{ text: "Together that is 12 + 7 = 19, claimed 19", isCorrect: true }],
    verdict: true,
  });
});

Deno.test("worked critiques: what one has worked out by itself is read again", () => {
  const given = { steps: ["12-7=5", "5*3=15", "15+34=49", "so"], answer: "15" };
  const { steps } = workedCritique(right, given);
  const read = steps.map(({ text }, i) =>
    readWorkedResult(`${text} \\boxed{CORRECT}`, given.steps[i])
  );
  assert.deepEqual(read, [
    { own: "19", claim: "5" },
    { own: "57", claim: "15" },
    { own: "49", claim: "49" },
    { own: "-", claim: "so" },
  ]);
  assert.equal(readWorkedResult("Step 1: \\boxed{CORRECT}", "12-7=5"), null);
});

Deno.test("steps of one calculation each are labelled beside the right ones, others not", () => {
  assert.deepEqual(
    labelStepsBeside(right.steps, ["7 + 12 = 19", "19+3=22", "57-8=49", "49+0=49"]),
    [true, false, true, false],
  );
  // As a generator may write numbers.
  const claims: [string, string, boolean][] = [
    ["12-7=5", "7-12=-5", false],
    ["12-7=5", "7-12 = -5", false],
    ["7-12=-5", "7 - 12 = -5", true],
    ["10*120=1200", "10*120=1,200", true],
    ["1/2=0.5", "1/2=.5", true],
    ["5*3=15", "5*3=15.0", true],
    ["5*3=15", "5*3=15.5", false],
    ["5*3=15", "5*3", false],
    ["8-3=5", "8-5", true],
    ["so", "so", true],
    ["so", "thus", false],
  ];
  for (const [own, step, isRight] of claims) {
    assert.deepEqual(labelStepsBeside([own], [step]), [isRight], `${own} beside ${step}`);
  }
  assert.ok(isTerse(["12+7=19", "1.5 * 2 = 3", "2*3*4=24"]));
  for (const steps of [null, [], ["12+7=19", "So it is 19."], ["12+7"], ["=19"], ["a+7=19"]]) {
    assert.ok(!isTerse(steps), `${steps}`);
  }
});

/** Draws one kind of mistake: of result, operation, operand, skippedStep and answer the n-th. */
const kind = (n: number) => (n + 0.5) / 5;

Deno.test("corrupted work: each kind of mistake is carried on to the answer", () => {
  const cases: [string, number[], string[], string][] = [
    // At the first step: by a ten, upwards.
    ["result", [kind(0), 0, 0.9, 0], ["12+7=29", "29*3=87", "87-8=79"], "79"],
    // By 1 to 9, here 3, upwards.
    ["result", [kind(0), 0, 0, 0.9, 0.25, 0], ["12+7=22", "22*3=66", "66-8=58"], "58"],
    // 12-7, for + the first other operation that comes out.
    ["operation", [kind(1), 0, 0], ["12-7=5", "5*3=15", "15-8=7"], "7"],
    // The left one, for the number read fifth: 19*3=57 has the 3.
    ["operand", [kind(2), 0, 0, 4.5 / 10], ["3+7=10", "10*3=30", "30-8=22"], "22"],
    // The second step.
    ["skippedStep", [kind(3), 0.5], ["12+7=19", "19-8=11"], "11"],
    // The first number of all.
    ["answer", [kind(4), 0, 0], right.steps, "12"],
  ];
  for (const [name, numbers, steps, answer] of cases) {
    const mistaken = corruptWork(right, from(...numbers));
    assert.ok(mistaken);
    assert.deepEqual([mistaken.steps, mistaken.answer], [steps, answer], name);
    const claims = ["19", "57", "49"];
    const expected = steps.map((step, i) => step.endsWith(`=${claims[i]}`));
    assert.deepEqual(mistaken.isRight, expected, name);
  }
});

Deno.test("corrupted work: what has no room for other mistakes has a wrong number, or is left", () => {
  const uniform = () => 0.5;
  const prose = { steps: ["There are 3 sides of 4 cm."], answer: "perimeter" };
  assert.notDeepEqual(corruptWork(prose, uniform)?.steps, prose.steps);
  assert.equal(corruptWork({ steps: ["no number"], answer: "x" }, uniform), null);
});

Deno.test("corrupted work: of word problems, one mistake, and every kind of them", () => {
  const found = { operation: 0, skipped: 0, answer: 0, far: 0, all: 0 };
  const results: Record<string, (left: number, right: number) => number> = {
    "+": (left, right) => left + right,
    "-": (left, right) => left - right,
    "*": (left, right) => left * right,
    "/": (left, right) => left / right,
  };
  let place = 0;
  for (const problem of wordProblems("train", 600, 3)) {
    const [work, answer] = problem.answer.split("\n#### ");
    const gold = { steps: work.split("\n"), answer };
    const random = new RandomStream(5, 90, 0, place++);
    const wrong = corruptWork(gold, () => random.uniform());
    assert.ok(wrong && wrong.answer !== answer, work);
    const slips = wrong.steps.filter((step) => {
      const [, left, operator, operand, result] = step.match(/^(\d+)(.)(\d+)=(\d+)$/) ?? [];
      return results[operator](Number(left), Number(operand)) !== Number(result);
    });
    assert.ok(slips.length <= 1, `${wrong.steps} of ${work}`);
    const critique = workedCritique(gold, wrong);
    assert.equal(critique.verdict, false);
    critique.steps.forEach(({ text, isCorrect }, i) => {
      // A reader of the critique alone comes to its judgment.
      const [, own, claim] = text.match(/(?:=(\d+)|-), claimed (\d+)$/) ?? [];
      assert.equal(isCorrect, own === claim, text);
      assert.equal(isCorrect, wrong.isRight[i]);
    });
    const operators = (steps: readonly string[]) => steps.join().replace(/\d/g, "");
    found.all++;
    if (wrong.steps.length < gold.steps.length) found.skipped++;
    else if (operators(wrong.steps) !== operators(gold.steps)) found.operation++;
    else if (wrong.steps.join() === gold.steps.join()) found.answer++;
    const off = Math.abs(Number(wrong.answer) - Number(answer));
    if (off > 9) found.far++;
  }
  // Each kind is drawn as often; those that cannot happen are drawn again.
  for (const [name, count] of Object.entries(found)) {
    assert.ok(count > 0.08 * found.all, `${name}: ${JSON.stringify(found)}`);
  }
});
