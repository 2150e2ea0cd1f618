import assert from "node:assert/strict";
import fc from "fast-check";
import { combineAdvantages, tangoAdvantages } from "../../../src/rl/advantage/advantages.ts";
import { outcomeAdvantages } from "../../../src/rl/advantage/outcome_advantages.ts";
import { processAdvantages } from "../../../src/rl/advantage/process_advantages.ts";
import type {
  AdvantageEstimator,
  ScoredResponse,
} from "../../../src/rl/advantage/scored_response.ts";

const ESTIMATORS: AdvantageEstimator[] = ["grpo", "rloo", "reinforce++"];

function outcomeOnly(group: number, reward: number, responseLength: number): ScoredResponse {
  return { group, reward, responseLength, stepRewards: [], stepEndTokens: [] };
}

function withSteps(group: number, length: number, steps: [number, number][]): ScoredResponse {
  return {
    group,
    reward: 0,
    responseLength: length,
    stepRewards: steps.map(([, reward]) => reward),
    stepEndTokens: steps.map(([token]) => token),
  };
}

// Results are float32 of numbers near 1 computed in float64: half an ulp is 6e-8.
function assertClose(actual: Float32Array, expected: number[], bound = 1e-6): void {
  assert.equal(actual.length, expected.length);
  expected.forEach((value, i) =>
    assert.ok(Math.abs(actual[i] - value) <= bound * Math.max(1, Math.abs(value)), `${actual}`)
  );
}

Deno.test("GRPO outcome: (R - mean) / (sample std + 1e-6), alike at every token", () => {
  const rows = outcomeAdvantages(
    [outcomeOnly(0, 1, 2), outcomeOnly(1, 5, 1), outcomeOnly(0, 0, 3), outcomeOnly(0, 0, 1)],
    "grpo",
  );
  // Group 0: mean 1/3, sample variance (4/9 + 1/9 + 1/9) / 2 = 1/3.
  const std = Math.sqrt(1 / 3) + 1e-6;
  assertClose(rows[0], [2 / 3 / std, 2 / 3 / std]);
  assertClose(rows[2], [-1 / 3 / std, -1 / 3 / std, -1 / 3 / std]);
  assertClose(rows[1], [5 / (1 + 1e-6)]);
});

Deno.test("RLOO outcome: R less the mean of the others", () => {
  const rows = outcomeAdvantages([1, 0, 0.5].map((reward) => outcomeOnly(0, reward, 1)), "rloo");
  assertClose(rows[0], [0.75]);
  assertClose(rows[1], [-0.75]);
  assertClose(rows[2], [0]);
  assert.throws(() => outcomeAdvantages([outcomeOnly(7, 1, 1)], "rloo"), /group 7 has one rollout/);
});

Deno.test("REINFORCE++ outcome: whitened over the tokens of the batch", () => {
  const rows = outcomeAdvantages([outcomeOnly(0, 1, 1), outcomeOnly(1, 0, 3)], "reinforce++");
  // Tokens 1, 0, 0, 0: mean 1/4, sample variance (9/16 + 3/16) / 3 = 1/4.
  const scale = Math.sqrt(0.25 + 1e-8);
  assertClose(rows[0], [0.75 / scale]);
  assertClose(rows[1], [-0.25 / scale, -0.25 / scale, -0.25 / scale]);
});

Deno.test("GRPO process: sums of the normalised rewards of the steps still to end", () => {
  const rows = processAdvantages([
    withSteps(0, 6, [[1, 0.5], [3, -0.5]]),
    withSteps(0, 4, [[2, 1]]),
    withSteps(0, 3, []),
    withSteps(1, 3, []),
  ], "grpo");
  // Rewards 0.5, -0.5, 1: mean 1/3, sample variance (1/36 + 25/36 + 16/36) / 2 = 7/12.
  const scale = Math.sqrt(7 / 12) + 1e-6;
  const [a, b, c] = [1 / 6, -5 / 6, 2 / 3].map((value) => value / scale);
  assertClose(rows[0], [a + b, a + b, b, b, 0, 0]);
  assertClose(rows[1], [c, c, c, 0]);
  assertClose(rows[2], [0, 0, 0]);
  assertClose(rows[3], [0, 0, 0]);
});

Deno.test("RLOO process: step rewards less the others' mean step reward", () => {
  const rows = processAdvantages([
    withSteps(0, 3, [[0, 0.5], [1, -0.5]]),
    withSteps(0, 2, [[1, 1]]),
    withSteps(1, 2, [[1, 1]]),
  ], "rloo");
  assertClose(rows[0], [-2, -1.5, 0]);
  assertClose(rows[1], [1, 1]);
  assertClose(rows[2], [0, 0]);
});

Deno.test("REINFORCE++ process: returns whitened over responses with step rewards", () => {
  const rows = processAdvantages(
    [withSteps(0, 3, [[0, 1], [1, 1]]), withSteps(1, 2, [])],
    "reinforce++",
  );
  // Returns 2, 1, 0: mean 1, sample variance 1.
  const scale = Math.sqrt(1 + 1e-8);
  assertClose(rows[0], [1 / scale, 0, -1 / scale]);
  assertClose(rows[1], [0, 0]);
});

Deno.test("two steps may end in the same token", () => {
  const [row] = processAdvantages([withSteps(0, 2, [[1, 1], [1, -1]])], "grpo");
  assertClose(row, [0, 0]);
});

Deno.test("combination: (1 - alpha) outcome + alpha process, each with its weight", () => {
  const weights = { alpha: 0.25, outcomeWeight: 2, processWeight: 4 };
  const [row] = combineAdvantages([Float32Array.of(1, 1)], [Float32Array.of(3, 0)], weights);
  assertClose(row, [1.5 + 3, 1.5]);
});

Deno.test("step end tokens that do not fit are refused", () => {
  assert.throws(
    () => processAdvantages([withSteps(0, 2, [[2, 1]])], "grpo"),
    /one ascending end token below/,
  );
  assert.throws(
    () => processAdvantages([withSteps(0, 4, [[2, 1], [1, 1]])], "grpo"),
    /one ascending end token below/,
  );
  const missing = { ...withSteps(0, 2, [[1, 1]]), stepEndTokens: [] };
  assert.throws(() => processAdvantages([missing], "grpo"), /one ascending end token below/);
});

const response = (group: number) =>
  fc.integer({ min: 1, max: 8 }).chain((responseLength) =>
    fc.record({
      group: fc.constant(group),
      reward: fc.integer({ min: -4, max: 4 }).map((quarter) => quarter / 4),
      responseLength: fc.constant(responseLength),
      steps: fc.uniqueArray(fc.nat(responseLength - 1), { maxLength: 4 }),
      judgments: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    })
  ).map(({ steps, judgments, ...rest }): ScoredResponse => ({
    ...rest,
    stepEndTokens: steps.sort((a, b) => a - b),
    stepRewards: steps.map((_, step) => (judgments[step] ? 1 : -1) / steps.length),
  }));
const batch = fc.tuple(
  fc.array(response(0), { minLength: 2, maxLength: 5 }),
  fc.array(response(1), { minLength: 2, maxLength: 5 }),
).map((groups) => groups.flat());

function rescaled(responses: ScoredResponse[], scale: number, shift: number): ScoredResponse[] {
  return responses.map((one) => ({ ...one, reward: one.reward * scale + shift }));
}

// The 1e-6 (GRPO) and 1e-8 (whitening) in the denominators are not invariant; with rewards in quarters
// a std is 0 or above 0.05, so they move a result by less than 1e-4 of it.
const EPSILON_BOUND = 1e-4;

Deno.test("property: outcome advantages ignore a shift; GRPO and REINFORCE++ a scale too", () => {
  fc.assert(fc.property(batch, (responses) => {
    for (const estimator of ESTIMATORS) {
      const plain = outcomeAdvantages(responses, estimator);
      outcomeAdvantages(rescaled(responses, 1, 3), estimator)
        .forEach((row, i) => assertClose(row, [...plain[i]], EPSILON_BOUND));
      const factor = estimator === "rloo" ? 2 : 1;
      outcomeAdvantages(rescaled(responses, 2, 0), estimator)
        .forEach((row, i) => assertClose(row, [...plain[i]].map((a) => a * factor), EPSILON_BOUND));
    }
  }));
});

Deno.test("property: outcome advantages sum to 0 over a group, or over the batch's tokens", () => {
  fc.assert(fc.property(batch, (responses) => {
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
    for (const estimator of ["grpo", "rloo"] as const) {
      const rows = outcomeAdvantages(responses, estimator);
      for (const group of [0, 1]) {
        const first = rows.filter((_, i) => responses[i].group === group).map((row) => row[0]);
        assert.ok(Math.abs(sum(first)) < 1e-5);
      }
    }
    const tokens = outcomeAdvantages(responses, "reinforce++").flatMap((row) => [...row]);
    assert.ok(Math.abs(sum(tokens)) < 1e-4);
  }));
});

Deno.test("property: process advantages fall by one adjusted reward per ended step", () => {
  fc.assert(fc.property(batch, (responses) => {
    for (const estimator of ["grpo", "rloo"] as const) {
      const rows = processAdvantages(responses, estimator);
      responses.forEach((one, i) => {
        const afterLast = (one.stepEndTokens.at(-1) ?? -1) + 1;
        assert.ok(rows[i].subarray(afterLast).every((value) => value === 0));
        for (let token = 1; token < one.responseLength; token++) {
          const endedBefore = one.stepEndTokens.includes(token - 1);
          if (!endedBefore) assert.equal(rows[i][token], rows[i][token - 1]);
        }
      });
    }
    // Normalised step rewards have mean 0, so the sums at the first tokens cancel in each group.
    const grpo = processAdvantages(responses, "grpo");
    for (const group of [0, 1]) {
      const members = responses.keys().filter((i) => responses[i].group === group).toArray();
      const count = members.reduce((total, i) => total + responses[i].stepRewards.length, 0);
      const total = members.reduce((sum, i) => sum + grpo[i][0], 0);
      if (count > 1) assert.ok(Math.abs(total) < 1e-4, `${total}`);
    }
  }));
});

Deno.test("property: the order of the batch does not matter", () => {
  fc.assert(
    fc.property(batch, fc.array(fc.nat(), { minLength: 10, maxLength: 10 }), (all, keys) => {
      const order = all.map((_, i) => i).sort((a, b) => keys[a] - keys[b]);
      const weights = { alpha: 0.3, outcomeWeight: 1, processWeight: 1 };
      for (const estimator of ESTIMATORS) {
        const plain = tangoAdvantages(all, estimator, weights);
        tangoAdvantages(order.map((i) => all[i]), estimator, weights)
          .forEach((row, place) => assertClose(row, [...plain[order[place]]], 1e-5));
      }
    }),
  );
});

Deno.test("property: alpha 0 leaves the outcome part alone", () => {
  fc.assert(fc.property(batch, (responses) => {
    const weights = { alpha: 0, outcomeWeight: 1, processWeight: 1 };
    for (const estimator of ESTIMATORS) {
      const outcome = outcomeAdvantages(responses, estimator);
      tangoAdvantages(responses, estimator, weights)
        .forEach((row, i) => assert.deepEqual([...row].map((a) => a + 0), [...outcome[i]]));
    }
  }));
});
