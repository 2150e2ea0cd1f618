/** Credit worked out by hand from what a run logged of its solutions and critiques. */

import assert from "node:assert/strict";
import type { Sample } from "../../../src/run/store/samples_log.ts";
import type { Logged } from "./credited_run.ts";

export const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** The mean over critiques that judged all steps; null without such. */
export function critiqued({ steps, critiques }: Sample): number[] | null {
  const whole = critiques.filter(({ stepJudgments }) => stepJudgments.length === steps.length);
  if (steps.length > 0 && whole.length === 0) return null;
  return steps.map((_, k) => mean(whole.map(({ stepJudgments }) => stepJudgments[k] ? 1 : -1)));
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** Expects each sample's advantages to be those of own-step credit under Dr. GRPO. */
export function expectOwnStep(
  group: readonly Sample[],
  judgments: readonly (readonly number[] | null)[],
  expected: number,
  alpha: number,
): number {
  const outcome = mean(group.map(({ correct }) => correct ? 1 : 0));
  const missing = group.map(({ steps }) => Math.max(0, expected - steps.length));
  const counted = group.map(({ steps, correct }, i) =>
    judgments[i] ?? (correct ? [] : steps.map(() => -1))
  );
  const all = counted.flatMap((own, i) => [...own, ...new Array<number>(missing[i]).fill(-1)]);
  const centre = all.length === 1 ? 0 : mean(all);
  let moved = 0;
  group.forEach(({ steps, correct, stepAdvantages, outcomeAdvantage, tokens }, i) => {
    const ofOutcome = (1 - alpha) * ((correct ? 1 : 0) - outcome);
    assert.ok(Math.abs(Number(outcomeAdvantage) - ofOutcome) < 1e-6);
    steps.forEach((_, k) => {
      const ofStep = counted[i].length === 0 ? 0 : alpha * (counted[i][k] - centre);
      assert.ok(
        Math.abs(Number(stepAdvantages?.[k]) - ofOutcome - ofStep) < 1e-6,
        `${stepAdvantages} of ${JSON.stringify(counted)}, ${expected} expected`,
      );
      if (ofStep !== 0) moved++;
    });
    const packed = tokens?.advantages.at(-1);
    const last = Array.isArray(packed) ? packed[0] : packed;
    const ofMissing = missing[i] > 0 ? alpha * (-1 - centre) : 0;
    // Packed numbers have four digits, and the last token may end a step.
    if (steps.length === 0 || tokens === undefined || missing[i] > 0) {
      assert.ok(Math.abs(Number(last) - ofOutcome - ofMissing) < 1e-3, `${last}`);
    }
  });
  return moved;
}

/** Values at the ends of all steps but the last, each of 3 continuations, from logged changes. */
export function innerValues(
  group: readonly Sample[],
  { stepRewards = [], correct }: Sample,
): number[] {
  let value = mean(group.map((one) => one.correct ? 1 : 0));
  const values = stepRewards.map((change) => value += change);
  values.forEach((value, k) => {
    const expected = k < values.length - 1 ? Math.round(3 * value) / 3 : correct ? 1 : 0;
    assert.ok(Math.abs(value - expected) < 1e-9, `${values}`);
  });
  return values.slice(0, -1);
}

/** Expects Dr. GRPO's advantages at alpha 1: changes whose group's mean is 0, the answer the last step's. */
export function expectValueCredit(group: readonly Sample[], process: string): number {
  const before = mean(group.map(({ correct }) => correct ? 1 : 0));
  let moved = 0;
  for (const { steps, correct, stepRewards = [], stepAdvantages = [], tokens } of group) {
    assert.equal(stepRewards.length, steps.length);
    const toGo = stepRewards.map((_, k) => stepRewards.slice(k).reduce((sum, one) => sum + one, 0));
    const expected = process === "own-step" ? stepRewards : toGo;
    stepAdvantages.forEach((advantage, k) =>
      assert.ok(Math.abs(advantage - expected[k]) < 1e-6, `${stepAdvantages}, not ${expected}`)
    );
    const packed = tokens?.advantages.at(-1);
    const last = Number(Array.isArray(packed) ? packed[0] : packed);
    const ofAnswer = steps.length === 0 ? (correct ? 1 : 0) - before : expected.at(-1);
    assert.ok(Math.abs(last - Number(ofAnswer)) < 1e-3, `${last}, not ${ofAnswer}`);
    if (new Set(stepRewards).size > 1) moved++;
  }
  return moved;
}

/** Balanced accuracy of "all steps CORRECT" about the outcome, from counts that move by a fifth. */
export function movingQuality(steps: readonly Logged[]): number[] {
  let counts: number[] | null = null;
  return steps.map(({ groups }) => {
    const fresh = [0, 0, 0, 0];
    for (const sample of groups.flat()) {
      const judgments = critiqued(sample);
      if (judgments?.length === 0) continue;
      const passes = judgments !== null && judgments.every((one) => one > 0);
      fresh[sample.correct ? 0 : 2]++;
      if (sample.correct ? passes : judgments !== null && !passes) fresh[sample.correct ? 1 : 3]++;
    }
    counts = counts === null ? fresh : counts.map((count, i) => 0.8 * count + 0.2 * fresh[i]);
    return (counts[1] / counts[0] + counts[3] / counts[2]) / 2;
  });
}
