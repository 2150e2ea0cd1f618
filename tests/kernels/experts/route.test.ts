/** The router's choice, its weights and their gradient against float64, and the list of pairs by expert. About a second an engine. */

import assert from "node:assert/strict";
import { groupPairs } from "../../../src/kernels/experts/grouping.ts";
import { route, routeBackward } from "../../../src/kernels/experts/route.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

interface Shape {
  readonly tokens: number;
  readonly experts: number;
  readonly chosen: number;
}

const shapes: readonly Shape[] = [
  { tokens: 1, experts: 1, chosen: 1 },
  { tokens: 67, experts: 7, chosen: 3 },
  { tokens: 20, experts: 130, chosen: 8 },
  { tokens: 9, experts: 5, chosen: 5 },
];

/** The k largest of a row, of equal ones the lower first. */
const choose = (row: readonly number[], k: number) =>
  Array.from(row.keys()).sort((a, b) => row[b] - row[a] || a - b).slice(0, k);

/** As `reference`, of scores that each expert has by itself. */
function sigmoidReference(
  logits: Float32Array,
  dWeights: Float32Array,
  { tokens, experts: E, chosen: k }: Shape,
  stride: number,
  { normalised, scale }: { readonly normalised: boolean; readonly scale: number },
  bias: Float32Array | null,
) {
  const experts: number[] = [], weights: number[] = [], dLogits: number[] = [];
  for (let t = 0; t < tokens; t++) {
    const scores = Array.from(
      logits.subarray(t * stride, t * stride + E),
      (x) => 1 / (1 + Math.exp(-x)),
    );
    const own = choose(scores.map((score, e) => score + (bias?.[e] ?? 0)), k);
    const sum = normalised ? own.reduce((sum, e) => sum + scores[e], 1e-6) : 1;
    const weigh = (scores: readonly number[]) => own.map((e) => scale * scores[e] / sum);
    const mean = normalised
      ? own.reduce((all, e, j) => all + scores[e] / sum * dWeights[t * k + j], 0)
      : 0;
    experts.push(...own);
    weights.push(...weigh(scores));
    dLogits.push(...Array.from({ length: stride }, (_, e) => {
      const j = own.indexOf(e);
      if (j < 0) return 0;
      return scale * (dWeights[t * k + j] - mean) / sum * scores[e] * (1 - scores[e]);
    }));
  }
  return { experts, weights, dLogits };
}

function reference(
  logits: Float32Array,
  dWeights: Float32Array,
  { tokens, experts: E, chosen: k }: Shape,
  stride: number,
  isNormalised: boolean,
  scale: number,
) {
  const experts: number[] = [], weights: number[] = [], dLogits: number[] = [];
  for (let t = 0; t < tokens; t++) {
    const row = [...logits.subarray(t * stride, t * stride + E)];
    const own = choose(row, k);
    const counted = isNormalised ? own : [...row.keys()];
    const sum = counted.reduce((sum, e) => sum + Math.exp(row[e]), 0);
    const shares = row.map((logit, e) => counted.includes(e) ? Math.exp(logit) / sum : 0);
    const d = row.map((_, e) => own.includes(e) ? dWeights[t * k + own.indexOf(e)] : 0);
    const mean = shares.reduce((sum, share, e) => sum + share * d[e], 0);
    experts.push(...own);
    weights.push(...own.map((e) => scale * shares[e]));
    dLogits.push(...Array.from(
      { length: stride },
      (_, e) => e < E ? scale * shares[e] * (d[e] - mean) : 0,
    ));
  }
  return { experts, weights, dLogits };
}

const tolerance = {
  absolute: 2e-6,
  relative: 4e-6,
  why: "exponentials and sums of up to 130 of them in float32",
};

onEveryGpu(
  "route: an expert that all share comes last, by the sigmoid of its logit",
  async (gpu) => {
    for (const shape of shapes) {
      const { tokens, experts, chosen } = shape;
      const stride = Math.ceil((experts + 1) / 4) * 4, scale = 1.5;
      const logits = randomFloats(tokens * stride, 1, 4);
      const slopes = randomFloats(tokens * (chosen + 1), 2);
      const routed = Float32Array.from(
        { length: tokens * chosen },
        (_, i) => slopes[i + Math.floor(i / chosen)],
      );
      const expected = reference(logits, routed, shape, stride, true, scale);
      const numbers: number[] = [], weights: number[] = [];
      for (let t = 0; t < tokens; t++) {
        const share = 1 / (1 + Math.exp(-logits[t * stride + experts]));
        numbers.push(...expected.experts.slice(t * chosen, (t + 1) * chosen), experts);
        weights.push(...expected.weights.slice(t * chosen, (t + 1) * chosen), scale * share);
        expected.dLogits[t * stride + experts] = scale * slopes[t * (chosen + 1) + chosen] *
          share * (1 - share);
      }
      const options = {
        ...{ experts, chosen, normalised: true, scale, scores: "softmax" } as const,
        ...{ bias: null, shared: true },
      };
      using steps = gpu.steps();
      const found = await gpu.readAll(steps.run(() => {
        const from = gpu.from(logits, [tokens, stride]);
        const routes = route(gpu, from, options);
        const dWeights = gpu.from(slopes, [tokens, chosen + 1]);
        const dLogits = routeBackward(gpu, from, routes.experts, dWeights, options);
        return [routes.experts, routes.weights, dLogits];
      }));
      assert.deepEqual([...found[0]], numbers);
      assertClose(found[1], weights, tolerance);
      assertClose(found[2], expected.dLogits, tolerance);
    }
  },
);

onEveryGpu("route: experts, weights and their gradient are those in float64", async (gpu) => {
  for (const shape of shapes) {
    for (const normalised of [false, true]) {
      const { tokens, experts, chosen } = shape;
      const stride = Math.ceil(experts / 4) * 4, scale = 1.5;
      const logits = randomFloats(tokens * stride, 1, 4);
      // Equal logits, more of them than are chosen.
      if (tokens > 1) logits.fill(0.5, stride, stride + experts);
      if (tokens > 2) logits[2 * stride] = logits[2 * stride + experts - 1] = 5;
      const slopes = randomFloats(tokens * chosen, 2);
      const expected = reference(logits, slopes, shape, stride, normalised, scale);
      const options = {
        experts,
        chosen,
        normalised,
        scale,
        scores: "softmax",
        bias: null,
      } as const;
      using steps = gpu.steps();
      const found = await gpu.readAll(steps.run(() => {
        const from = gpu.from(logits, [tokens, stride]);
        const routes = route(gpu, from, options);
        const dWeights = gpu.from(slopes, [tokens, chosen]);
        const dLogits = routeBackward(gpu, from, routes.experts, dWeights, options);
        return [routes.experts, routes.weights, dLogits];
      }));
      assert.deepEqual([...found[0]], expected.experts);
      assertClose(found[1], expected.weights, tolerance);
      assertClose(found[2], expected.dLogits, tolerance);
    }
  }
});

onEveryGpu("route: scores of each expert by itself, and a bias of the choice", async (gpu) => {
  for (const shape of shapes) {
    for (const [normalised, isBiased] of [[false, false], [true, true], [true, false]]) {
      const { tokens, experts, chosen } = shape;
      const stride = Math.ceil(experts / 4) * 4, scale = 1.5;
      const logits = randomFloats(tokens * stride, 5, 4), slopes = randomFloats(tokens * chosen, 6);
      const own = isBiased ? randomFloats(experts, 7) : null;
      const expected = sigmoidReference(logits, slopes, shape, stride, { normalised, scale }, own);
      using steps = gpu.steps();
      const found = await gpu.readAll(steps.run(() => {
        const bias = own && gpu.from(own, [experts]);
        const options = { experts, chosen, normalised, scale, scores: "sigmoid", bias } as const;
        const from = gpu.from(logits, [tokens, stride]);
        const routes = route(gpu, from, options);
        const dWeights = gpu.from(slopes, [tokens, chosen]);
        const dLogits = routeBackward(gpu, from, routes.experts, dWeights, options);
        return [routes.experts, routes.weights, dLogits];
      }));
      assert.deepEqual([...found[0]], expected.experts);
      assertClose(found[1], expected.weights, tolerance);
      assertClose(found[2], expected.dLogits, tolerance);
    }
  }
});

onEveryGpu("route: logits that are no numbers choose experts that there are", async (gpu) => {
  const [tokens, experts, chosen] = [3, 6, 4];
  const logits = randomFloats(tokens * 8, 3);
  logits.fill(NaN, 0, 8);
  logits[9] = NaN;
  using steps = gpu.steps();
  const [found] = await gpu.readAll(steps.run(() => {
    const kind = { scores: "softmax", bias: null, normalised: true, scale: 1 } as const;
    const options = { experts, chosen, ...kind };
    return [route(gpu, gpu.from(logits, [tokens, 8]), options).experts];
  }));
  assert.ok(found.every((expert) => expert < experts), String(found));
});

onEveryGpu("group pairs: those of an expert lie together by token", async (gpu) => {
  for (const { tokens, experts, chosen } of shapes) {
    const numbers = randomFloats(tokens * experts, 4);
    // The last expert is nobody's.
    const own = Array.from({ length: tokens }, (_, t) => {
      const row = [...numbers.subarray(t * experts, (t + 1) * experts)];
      if (chosen < experts) row[experts - 1] = -2;
      return choose(row, chosen);
    }).flat();
    using steps = gpu.steps();
    const [offsets, list, places] = await gpu.readAll(steps.run(() => {
      const from = gpu.from(Uint32Array.from(own), [tokens, chosen], "u32");
      const grouping = groupPairs(gpu, from, experts);
      return [grouping.offsets, grouping.list, grouping.places];
    }));
    const pairs = Array.from(own.keys()).sort((a, b) => own[a] - own[b] || a - b);
    assert.deepEqual([...list], pairs);
    assert.deepEqual([...places], Array.from(own.keys(), (pair) => pairs.indexOf(pair)));
    const before = Array.from(
      { length: experts + 1 },
      (_, e) => own.filter((expert) => expert < e).length,
    );
    assert.deepEqual([...offsets], before);
  }
});
