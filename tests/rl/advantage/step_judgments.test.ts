import assert from "node:assert/strict";
import {
  critiquedJudgments,
  dealtJudgments,
  type JudgmentSource,
  oracleJudgments,
  type StepJudgments,
  stepJudgments,
  valueChanges,
} from "../../../src/rl/advantage/step_judgments.ts";

const place = { seed: 7, step: 3 };
const critique = (...stepJudgments: boolean[]) => ({ stepJudgments, endsAtError: false });

Deno.test("judgments: the mean of the critiques that judged every step", () => {
  const critiques = [
    critique(true, true),
    critique(true, false),
    critique(true),
    critique(false, false),
    critique(true, false),
  ];
  assert.deepEqual(critiquedJudgments(critiques, 2), [0.5, -0.5]);
  assert.equal(critiquedJudgments([critique(true)], 2), null);
  assert.equal(critiquedJudgments([], 2), null);
  assert.deepEqual(critiquedJudgments([critique(true)], 0), []);
});

Deno.test("judgments: a critique that ends at the first flagged step counts where nothing goes by the rest", () => {
  const ended = { stepJudgments: [true, false], endsAtError: true };
  assert.deepEqual(critiquedJudgments([ended], 4, true), [1, -1, -1, -1]);
  assert.equal(critiquedJudgments([ended], 4), null);
  assert.deepEqual(critiquedJudgments([ended], 2), [1, -1]);
  // A flagged step that the solution does not have.
  assert.equal(critiquedJudgments([ended], 1, true), null);
  assert.equal(critiquedJudgments([critique(true)], 2, true), null);
});

Deno.test("judgments: each source asks for what it needs alone", () => {
  let asked = 0;
  const solution = {
    stepCount: 2,
    critiques: [critique(true, false)],
    trueLabels() {
      asked++;
      return [false, true];
    },
  };
  const by = (source: Exclude<JudgmentSource, "prefix">) =>
    stepJudgments([solution], { source, oracleAccuracy: 1, untilError: false, ...place });
  assert.deepEqual(by("verifier"), [[1, -1]]);
  assert.deepEqual(by("permuted"), [[1, -1]]);
  assert.deepEqual(by("constant"), [[1, 1]]);
  assert.equal(asked, 0);
  assert.deepEqual(by("oracle"), [[-1, 1]]);
  assert.equal(asked, 1);
});

Deno.test("judgments: the oracle keeps its share of right and of wrong labels", () => {
  const count = 20_000;
  for (const label of [true, false]) {
    const told = oracleJudgments(new Array<boolean>(count).fill(label), 0.8, place, 1) ?? [];
    const kept = told.filter((judgment) => judgment === (label ? 1 : -1)).length / count;
    // Five standard deviations of a mean of 20,000 draws: sqrt(0.16 / 20000) = 0.0028.
    assert.ok(Math.abs(kept - 0.8) < 0.0142, `${kept}`);
  }
  const labels = [true, false, true, true];
  assert.deepEqual(oracleJudgments(labels, 1, place, 0), [1, -1, 1, 1]);
  const long = new Array<boolean>(64).fill(true);
  assert.deepEqual(oracleJudgments(long, 0.7, place, 4), oracleJudgments(long, 0.7, place, 4));
  assert.notDeepEqual(oracleJudgments(long, 0.7, place, 4), oracleJudgments(long, 0.7, place, 5));
  const later = { ...place, step: 4 };
  assert.notDeepEqual(oracleJudgments(long, 0.7, place, 4), oracleJudgments(long, 0.7, later, 4));
});

Deno.test("judgments: dealt out whole among the solutions of as many steps", () => {
  const judgments: StepJudgments[] = [[1, -1], [0.5], null, [1, 1], [], [-1, -0.5], [-1]];
  const dealt = dealtJudgments(judgments, place);
  assert.deepEqual(dealt.map((own) => own?.length), judgments.map((own) => own?.length));
  const sorted = (all: readonly StepJudgments[]) => all.map((own) => JSON.stringify(own)).sort();
  assert.deepEqual(sorted(dealt), sorted(judgments));
  assert.deepEqual(dealtJudgments(judgments, place), dealt);
  // Each of four solutions is as likely to get the first one's: 4,000 deals, five deviations of sqrt(3 / 16 / 4000).
  const four = [[-1, -1], [1, -1], [1, 1], [0, 0]];
  const counts = [0, 0, 0, 0];
  for (let step = 0; step < 4000; step++) {
    counts[dealtJudgments(four, { seed: 1, step }).findIndex((own) => own === four[0])]++;
  }
  for (const count of counts) assert.ok(Math.abs(count / 4000 - 0.25) < 0.0343, `${counts}`);
});

Deno.test("judgments: changes of value add up to the outcome less what the group begins with", () => {
  // Two groups, not in their order: one of three with a right solution, one of two with none.
  const groups = [0, 1, 0, 1, 0];
  const isCorrect = [true, false, false, false, false];
  const values = [[0.5, 0.75, 1], [0.25, 0], [0.25, 0], [0], []];
  const changes = valueChanges(values, isCorrect, groups);
  // v_0 of the first group is 1/3: 0.5 - 1/3, 0.75 - 0.5, 1 - 0.75; of the second 0.
  const third = 1 / 3;
  assert.deepEqual(changes, [
    [0.5 - third, 0.25, 0.25],
    [0.25, -0.25],
    [0.25 - third, -0.25],
    [0],
    [0 - third],
  ]);
  const sumOf = (g: number) =>
    changes.filter((_, i) => groups[i] === g).flat().reduce((sum, one) => sum + one, 0);
  assert.ok(Math.abs(sumOf(0)) < 1e-15);
  assert.equal(sumOf(1), 0);
});
