/**
 * Products with the matrices of experts: bit for bit those that `gemm` makes of each expert's rows alone, whose own tests
 * hold it to float64, in tiles of any height and in batches cut in passes; what surrounds them against float64. A quarter of
 * a minute an engine.
 */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { MatrixType, Tensor } from "../../../src/gpu/tensor.ts";
import { combine } from "../../../src/kernels/experts/combine.ts";
import { expertGateBackward } from "../../../src/kernels/experts/gate_backward.ts";
import { groupedGradient, groupedProduct } from "../../../src/kernels/experts/grouped_products.ts";
import { rowsOfTile } from "../../../src/kernels/experts/grouped_tiles.ts";
import { groupPairs } from "../../../src/kernels/experts/grouping.ts";
import { gemm } from "../../../src/kernels/products/gemm.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";
import {
  choices,
  grouped,
  numbers,
  placesOf,
  rowsOf,
  type Shape,
  shapes,
  stored,
  tiles,
} from "./grouped_shapes.ts";

/** Checks a grouped product against those of each expert by itself. */
async function assertProduct(
  gpu: Gpu,
  shape: Shape,
  storage: MatrixType,
  layout: "nt" | "nn",
  rows: "tokens" | "places",
  isGated: boolean,
): Promise<void> {
  const { experts, tokens, chosen, width, inner } = shape;
  const { x, h, gateUp, down } = numbers(shape);
  const ofTokens = rows === "tokens";
  const [data, inputs] = ofTokens ? [x, width] : [h, inner];
  const [matrix, outer] = ofTokens ? [gateUp, 2 * inner] : [down, width];
  const flat = layout === "nt" ? [experts * outer, inputs] : [experts * inputs, outer];
  const columns = isGated ? outer / 2 : outer;
  const pairs = tokens * chosen;
  const label = `${layout} ${storage} of ${rows}`;
  // How a matrix is stored and what tile there is do not depend on one another.
  const asked = storage === "f32" ? [undefined, ...tiles] : [undefined];
  using steps = gpu.steps();
  const made = steps.run(() => {
    const stacked = stored(gpu, matrix, flat, storage);
    const grouping = grouped(gpu, shape);
    const a = gpu.from(data, [data.length / inputs, inputs]);
    const kept: Tensor[] = [], found: Tensor[] = [];
    for (const tile of asked) {
      const c = gpu.tensor([pairs, columns]);
      const both = isGated && !(tile && rowsOfTile(tile) === 16)
        ? gpu.tensor([pairs, outer])
        : null;
      groupedProduct(gpu, layout, a, { stacked, experts }, grouping, c, {
        ...{ label, rowsOf: rows, tile },
        ...(isGated ? { gated: { kept: both, activation: "silu" } } : {}),
      });
      found.push(c);
      if (both) kept.push(both);
    }
    const alone = placesOf(shape).flatMap(({ places, tokens }, e) => {
      const own = rowsOf(gpu, data, inputs, ofTokens ? tokens : places);
      if (!own) return [];
      const size = matrix.length / experts;
      const one = stored(gpu, matrix.subarray(e * size, (e + 1) * size), [
        flat[0] / experts,
        flat[1],
      ], storage);
      const c = gpu.tensor([places.length, columns]);
      const both = isGated ? gpu.tensor([places.length, outer]) : null;
      gemm(gpu, layout, own, one, c, isGated ? { gated: { kept: both } } : {});
      return [{ c, both }];
    });
    const gateUps = alone.flatMap(({ both }) => both ? [both] : []);
    return [
      { tensors: [...found, ...alone.map(({ c }) => c)], count: found.length },
      { tensors: [...kept, ...gateUps], count: kept.length },
    ];
  });
  for (const { tensors, count } of made.filter(({ count }) => count > 0)) {
    const read = await gpu.readAll(tensors) as Float32Array[];
    const expected = Float32Array.from(read.slice(count).flatMap((part) => [...part]));
    for (const found of read.slice(0, count)) assert.deepEqual(found, expected, label);
  }
}

onEveryGpu("grouped products: the bits of each expert's own product", async (gpu) => {
  for (const shape of shapes) {
    for (const storage of ["f32", "bf16"] as const) {
      await assertProduct(gpu, shape, storage, "nt", "tokens", false);
      await assertProduct(gpu, shape, storage, "nt", "tokens", true);
      await assertProduct(gpu, shape, storage, "nt", "places", false);
      await assertProduct(gpu, shape, storage, "nn", "tokens", false);
      await assertProduct(gpu, shape, storage, "nn", "places", false);
    }
  }
});

onEveryGpu("grouped gradients: the bits of each expert's own, in passes too", async (gpu) => {
  for (const shape of shapes) {
    const { tokens, experts, chosen, width, inner } = shape;
    const { x, h, dy } = numbers(shape);
    const begun = randomFloats(experts * width * inner, 7);
    for (const ofTokens of ["a", "b"] as const) {
      const [rows, columns] = ofTokens === "a" ? [width, inner] : [inner, width];
      const ofToken = ofTokens === "a" ? dy : x;
      using steps = gpu.steps();
      const made = steps.run(() => {
        const whole = gpu.from(begun, [experts * rows, columns]);
        const grouping = grouped(gpu, shape);
        const t = gpu.from(ofToken, [tokens, width]), p = gpu.from(h, [tokens * chosen, inner]);
        const [a, b] = ofTokens === "a" ? [t, p] : [p, t];
        const into = (stacked: Tensor) => ({ stacked, experts });
        groupedGradient(gpu, "whole", { a, b, ofTokens }, grouping, into(whole));
        // A pass for each half of the tokens.
        const cut = gpu.from(begun, [experts * rows, columns]);
        const half = Math.ceil(tokens / 2);
        const order = placesOf(shape);
        for (const [first, end] of [[0, half], [half, tokens]]) {
          if (first === end) continue;
          const own = choices(shape).slice(first * chosen, end * chosen);
          const part = groupPairs(gpu, gpu.from(own, [end - first, chosen], "u32"), experts);
          const places = order.flatMap((one) =>
            one.places.filter((_, i) => one.tokens[i] >= first && one.tokens[i] < end)
          );
          const ofPart = rowsOf(gpu, h, inner, places);
          assert.ok(ofPart);
          const tPart = t.view(first * width, [end - first, width]);
          const factors = ofTokens === "a" ? { a: tPart, b: ofPart } : { a: ofPart, b: tPart };
          groupedGradient(gpu, "part", { ...factors, ofTokens }, part, into(cut));
        }
        const alone = gpu.from(begun, [experts * rows, columns]);
        placesOf(shape).forEach((one, e) => {
          const [tOwn, pOwn] = [
            rowsOf(gpu, ofToken, width, one.tokens),
            rowsOf(gpu, h, inner, one.places),
          ];
          if (!tOwn || !pOwn) return;
          const [aOwn, bOwn] = ofTokens === "a" ? [tOwn, pOwn] : [pOwn, tOwn];
          const c = alone.view(e * rows * columns, [rows, columns]);
          gemm(gpu, "tn", aOwn, bOwn, c, { accumulate: true });
        });
        const others = tiles.map((tile) => {
          const other = gpu.from(begun, [experts * rows, columns]);
          groupedGradient(gpu, "other", { a, b, ofTokens }, grouping, into(other), tile);
          return other;
        });
        return [alone, whole, cut, ...others];
      });
      const [alone, ...found] = await gpu.readAll(made);
      for (const one of found) assert.deepEqual(one, alone);
    }
  }
});

const tolerance = {
  absolute: 4e-6,
  relative: 4e-6,
  why: "sums of up to 76 products of numbers below 1 in float32",
};

onEveryGpu("experts: what they give comes together as in float64", async (gpu) => {
  for (const shape of shapes) {
    const { tokens, chosen, width } = shape;
    const given = randomFloats(tokens * chosen * width, 8);
    const { weights, x: residual } = numbers(shape);
    const list = placesOf(shape);
    const own = choices(shape);
    using steps = gpu.steps();
    const [weighted, plain] = await gpu.readAll(steps.run(() => {
      const grouping = grouped(gpu, shape);
      const from = gpu.from(given, [tokens * chosen, width]);
      const ys = [gpu.tensor([tokens, width]), gpu.tensor([tokens, width])];
      combine(gpu, from, grouping, ys[0], {
        weights: gpu.from(weights, [tokens, chosen]),
        residual: gpu.from(residual, [tokens, width]),
      });
      combine(gpu, from, grouping, ys[1]);
      return ys;
    }));
    const placeOf = (pair: number) => {
      const { places, tokens } = list[own[pair]];
      return places[tokens.indexOf(Math.floor(pair / chosen))];
    };
    const expected = (isWeighted: boolean) =>
      Array.from({ length: tokens * width }, (_, i) => {
        const t = Math.floor(i / width);
        let sum = isWeighted ? residual[i] : 0;
        for (let pair = t * chosen; pair < (t + 1) * chosen; pair++) {
          sum += (isWeighted ? weights[pair] : 1) * given[placeOf(pair) * width + i % width];
        }
        return sum;
      });
    assertClose(weighted, expected(true), tolerance);
    assertClose(plain, expected(false), tolerance);
  }
});

onEveryGpu("experts: the gradients of gates and weights are those in float64", async (gpu) => {
  for (const shape of shapes) {
    const { tokens, chosen, inner } = shape;
    const pairs = tokens * chosen;
    const gateUp = randomFloats(2 * pairs * inner, 9, 3), given = randomFloats(pairs * inner, 10);
    const { weights } = numbers(shape);
    const own = choices(shape);
    const list = Array.from(own.keys()).sort((a, b) => own[a] - own[b] || a - b);
    for (const activation of ["silu", "gelu"] as const) {
      using steps = gpu.steps();
      const [dWeights, dGateUp, weighted] = await gpu.readAll(steps.run(() => {
        const made = expertGateBackward(
          gpu,
          gpu.from(gateUp, [pairs, 2 * inner]),
          gpu.from(given, [pairs, inner]),
          grouped(gpu, shape),
          gpu.from(weights, [tokens, chosen]),
          activation,
        );
        return [made.dWeights, made.dGateUp, made.weighted];
      }));
      const act = (x: number) =>
        activation === "silu"
          ? x / (1 + Math.exp(-x))
          : 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
      const slope = (x: number) => (act(x + 1e-5) - act(x - 1e-5)) / 2e-5;
      const expected = {
        dWeights: new Array<number>(pairs).fill(0),
        dGateUp: new Array<number>(2 * pairs * inner).fill(0),
        weighted: new Array<number>(pairs * inner).fill(0),
      };
      for (let place = 0; place < pairs; place++) {
        for (let i = 0; i < inner; i++) {
          const at = 2 * place * inner + i, index = place * inner + i;
          const [gate, up, weight] = [gateUp[at], gateUp[at + inner], weights[list[place]]];
          expected.dWeights[list[place]] += act(gate) * up * given[index];
          expected.dGateUp[at] = weight * given[index] * up * slope(gate);
          expected.dGateUp[at + inner] = weight * given[index] * act(gate);
          expected.weighted[index] = weight * act(gate) * up;
        }
      }
      assertClose(dWeights, expected.dWeights, { ...tolerance, absolute: 3e-5 });
      assertClose(dGateUp, expected.dGateUp, { ...tolerance, absolute: 1e-5 });
      assertClose(weighted, expected.weighted, { ...tolerance, absolute: 1e-5 });
    }
  }
});
