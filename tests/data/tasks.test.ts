import assert from "node:assert/strict";
import { arithmeticTask } from "../../src/data/arithmetic.ts";
import { chainsTask, MOST_CHAIN_STEPS } from "../../src/data/chains.ts";
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

function assertSpelt(text: string, words: readonly string[] = []): void {
  const tags = [...vocabularyTokens, ...words].filter((token) => token.length > 1)
    .sort((a, b) => b.length - a.length);
  const rest = tags.reduce((left, tag) => left.replaceAll(tag, ""), text)
    .replaceAll(words.includes("|") ? "|" : "", "");
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
      assertSpelt(problem.question + text, task.words);
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
      assertSpelt(text, task.words);
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

/** The count of every person, from the sentences alone, in whichever order they stand. */
function countAll(question: string): Map<string, number> {
  const counts = new Map<string, number>();
  const left = question.split(". ").slice(0, -1);
  while (left.length > 0) {
    const next = left.findIndex((sentence) => {
      const from = /^([a-z]+)'s pal /.exec(sentence)?.at(1);
      return from === undefined || counts.has(from);
    });
    const [sentence] = left.splice(next < 0 ? assert.fail(question) : next, 1);
    const [, from, person, number, means] =
      /^(?:([a-z]+)'s pal )?([a-z]+) has (\d+) (pens|more|fewer|times as many)$/.exec(sentence) ??
        assert.fail(sentence);
    assert.equal(counts.has(person), false, question);
    const before = means === "pens" ? 0 : counts.get(from) ?? assert.fail(question);
    const value = Number(number);
    const all: Record<string, number> = {
      pens: value,
      more: before + value,
      fewer: before - value,
      "times as many": before * value,
    };
    counts.set(person, all[means]);
  }
  return counts;
}

Deno.test("chains: who has how many follows from the sentences, and the steps lead there", () => {
  let pairs = 0, commuting = 0;
  for (let i = 0; i < TRIES; i++) {
    const problem = chainsTask.makeProblem(uniformOf(i), { minimumSteps: 1, maximumSteps: 7 });
    const counts = countAll(problem.question);
    const asked = problem.question.split(" ").at(-1) ?? "";
    assert.equal(problem.answer, String(counts.get(asked)), problem.question);
    let before: number | null = null;
    for (const step of problem.goldSteps) {
      const [, person, left, operator, right, result] =
        /^([a-z]+):(\d+)([-+*])(\d+)=(\d+)$/.exec(step) ?? assert.fail(step);
      const [a, b] = [Number(left), Number(right)];
      const exact = { "+": a + b, "-": a - b, "*": a * b }[operator];
      assert.equal(exact, Number(result), step);
      assert.equal(counts.get(person), exact, step);
      assert.ok(exact >= 1 && exact <= 20 && (before === null || before === a), step);
      before = exact;
    }
    assert.equal(problem.question.split(". ").length - 1, problem.goldSteps.length + 1);
    const isProduct = problem.goldSteps.map((step) => step.includes("*"));
    pairs += isProduct.length - 1;
    commuting += isProduct.filter((product, k) => k > 0 && product === isProduct[k - 1]).length;
  }
  // Neighbours that may change places give a right answer in the wrong order.
  assert.ok(commuting < pairs / 20, `${commuting} of ${pairs}`);
  const tooLong = { minimumSteps: MOST_CHAIN_STEPS + 1, maximumSteps: MOST_CHAIN_STEPS + 1 };
  assert.throws(() => chainsTask.makeProblem(uniformOf(0), tooLong), /at most 7/);
});

Deno.test("chains: sentences in any order, and some beside the point, lead to the same answer", () => {
  const difficulty = { minimumSteps: 2, maximumSteps: 4, shuffled: true, distractors: 2 };
  let inOrder = 0;
  for (let i = 0; i < TRIES; i++) {
    const { question, answer, goldSteps } = chainsTask.makeProblem(uniformOf(i), difficulty);
    const counts = countAll(question);
    assert.equal(counts.get(question.split(" ").at(-1) ?? ""), Number(answer), question);
    assert.equal(counts.size, goldSteps.length + 3, question);
    const needed = goldSteps.map((step) => step.split(":")[0]);
    for (const step of goldSteps) {
      const [person, work] = step.split(":");
      assert.equal(counts.get(person), Number(work.split("=")[1]), step);
    }
    for (const count of counts.values()) assert.ok(count >= 1 && count <= 20, question);
    const places = needed.map((person) => question.indexOf(`${person} has `));
    if (places.every((place, k) => k === 0 || place > places[k - 1])) inOrder++;
  }
  // Two steps stand in order in half of all problems, four in one of 24.
  assert.ok(inOrder > TRIES / 8 && inOrder < TRIES / 2, `${inOrder} of ${TRIES}`);
  // With none of it the problems are what they were.
  const plain = { minimumSteps: 2, maximumSteps: 6 };
  assert.deepEqual(
    chainsTask.makeProblem(uniformOf(1), { ...plain, shuffled: false, distractors: 0 }),
    chainsTask.makeProblem(uniformOf(1), plain),
  );
  const tooMany = { minimumSteps: 4, maximumSteps: 4, distractors: 4 };
  assert.throws(() => chainsTask.makeProblem(uniformOf(0), tooMany), /at most 7 together/);
});

Deno.test("chains: a mistake is carried on to the answer, whatever its kind", () => {
  const kinds = new Map<string, number>();
  for (let i = 0; i < TRIES; i++) {
    const uniform = uniformOf(i);
    const problem = chainsTask.makeProblem(uniform, WIDE);
    const { kind, steps, answer } = chainsTask.corruptSolution(problem, uniform);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const last = steps.at(-1)?.split("=")[1];
    assert.equal(answer === last, kind !== "answerMismatch", `${steps} ${answer}`);
    const labels = chainsTask.labelSteps(problem, steps);
    const wrong = labels.indexOf(false);
    if (kind === "answerMismatch") assert.equal(wrong, -1);
    else if (kind !== "skippedStep") assert.ok(wrong >= 0, `${problem.goldSteps} ${steps}`);
    if (wrong < 0) continue;
    // All later steps start from a number that is written before them, or is somebody's.
    for (const step of steps) assert.match(step, /^[a-z]+:\d+[-+*]\d+=\d{1,2}$/);
  }
  assert.deepEqual([...kinds.keys()].sort(), [
    "answerMismatch",
    "extraStep",
    "lostTrack",
    "miscalculated",
    "skippedStep",
    "wrongOperand",
    "wrongOperator",
    "wrongReference",
  ]);
});

Deno.test("chains: the critique goes on from the right numbers, the claim beside its own, and says whether they agree", () => {
  const problem = {
    question: "ann has 7 pens. ann's pal bob has 3 more. bob's pal cid has 2 times as many. " +
      "how many has cid",
    answer: "20",
    goldSteps: ["bob:7+3=10", "cid:10*2=20"],
  };
  const steps = ["bob:7+3=11", "cid:11*2=22", "cid:10*2=20", "twenty"];
  assert.deepEqual(chainsTask.labelSteps(problem, steps), [false, false, false, false]);
  assert.deepEqual(
    chainsTask.writeCritique(problem, { steps, answer: "22" }),
    {
      steps: [
        { text: "bob:7+3=10|11 differs", isCorrect: false },
        { text: "cid:10*2=20|22 differs", isCorrect: false },
        { text: "-:-|20 differs", isCorrect: false },
        { text: "-:-|? differs", isCorrect: false },
      ],
      verdict: false,
    },
  );
  // What is claimed counts: not of whom, nor how it was found.
  assert.deepEqual(chainsTask.labelSteps(problem, ["bob:5+5=10", "dan:10*2=20"]), [true, true]);
});

Deno.test("chains: each part has its share of the problems", () => {
  const parts = Array.from(
    { length: TRIES },
    (_, i) => chainsTask.splitOf?.(chainsTask.makeProblem(uniformOf(i), WIDE)),
  );
  for (const held of ["validation", "test"]) {
    const share = parts.filter((one) => one === held).length / TRIES;
    // A tenth of 400 draws, and four deviations of 1.5 points.
    assert.ok(Math.abs(share - 0.1) < 0.06, `${share}`);
  }
});

Deno.test("an answer is compared without the space around it; none is never right", () => {
  const problem = { question: "cat", answer: "t", goldSteps: ["cat:t"] };
  assert.equal(lastLetterTask.isCorrectAnswer(problem, " t "), true);
  assert.equal(lastLetterTask.isCorrectAnswer(problem, null), false);
  assert.throws(() => findTask("chess"), /last-letter, arithmetic, chains/);
});
