/**
 * What adapters add to products with the matrices of experts, and their gradients: bit for bit what `gemm` makes of each
 * expert's rows alone, whose own tests hold it to float64, in tiles of any height. Half a minute an engine.
 */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Tensor } from "../../../src/gpu/tensor.ts";
import { groupedGradient, groupedProduct } from "../../../src/kernels/experts/grouped_products.ts";
import { gemm } from "../../../src/kernels/products/gemm.ts";
import { onEveryGpu, randomFloats } from "../harness.ts";
import {
  grouped,
  numbers,
  placesOf,
  rowsOf,
  type Shape,
  shapes,
  stored,
  tiles,
} from "./grouped_shapes.ts";

const rank = 12;
const scale = 0.375;

/** The rows of one expert's matrix among those that lie one after the other. */
function ofExpert(gpu: Gpu, data: Float32Array, width: number, expert: number, experts: number) {
  const size = data.length / experts;
  const own = data.slice(expert * size, (expert + 1) * size);
  return gpu.from(own, [size / width, width]);
}

/** Reads what was made of all, by every tile, and of each expert by itself, and holds the ones to the others. */
async function assertSame(
  gpu: Gpu,
  { all, alone }: { readonly all: readonly Tensor[]; readonly alone: readonly Tensor[] },
  label: string,
): Promise<void> {
  const read = await gpu.readAll([...all, ...alone]) as Float32Array[];
  const expected = Float32Array.from(read.slice(all.length).flatMap((part) => [...part]));
  for (const found of read.slice(0, all.length)) assert.deepEqual(found, expected, label);
}

/** Each tile and the one that the device would take. */
const everyTile = [undefined, ...tiles];

/** The places of experts that have any. */
const used = (shape: Shape) =>
  placesOf(shape).flatMap((own, expert) => own.places.length > 0 ? [{ ...own, expert }] : []);

onEveryGpu("grouped adapters: products go on with their terms, and are scaled", async (gpu) => {
  for (const shape of shapes) {
    const { experts, tokens, chosen, width, inner } = shape;
    const { x, h, gateUp, down } = numbers(shape);
    const pairs = tokens * chosen;
    for (const parts of [0, 1, 2]) {
      const isGated = parts > 0;
      const [rows, outer] = isGated ? ["tokens", 2 * inner] as const : ["places", width] as const;
      const [data, matrix, inputs] = isGated ? [x, gateUp, width] : [h, down, inner];
      const n = Math.max(1, parts);
      const terms = randomFloats(pairs * n * rank, 11),
        b = randomFloats(experts * outer * rank, 12);
      const columns = isGated ? outer / 2 : outer;
      for (const storage of parts === 2 ? ["f32", "bf16"] as const : ["f32"] as const) {
        using steps = gpu.steps();
        const [made, kept, scaled] = steps.run(() => {
          const grouping = grouped(gpu, shape);
          const a = gpu.from(data, [data.length / inputs, inputs]);
          const stacked = stored(gpu, matrix, [experts * outer, inputs], storage);
          const further = {
            inner: gpu.from(terms, [pairs, n * rank]),
            further: gpu.from(b, [experts * outer, rank]),
          };
          // How a matrix is stored and what tile there is do not depend on one another.
          const all = (storage === "f32" ? everyTile : [undefined]).map((tile) => {
            const [c, both, plain] = [columns, outer, outer].map((width) =>
              gpu.tensor([pairs, width])
            );
            const options = { label: "adapted", rowsOf: rows, tile };
            const gated = { kept: both, activation: "silu" } as const;
            groupedProduct(gpu, "nt", a, { stacked, experts }, grouping, c, {
              ...{ ...options, further },
              ...(isGated ? { gated } : {}),
            });
            if (!isGated) {
              groupedProduct(gpu, "nt", a, { stacked, experts }, grouping, plain, {
                ...{ ...options, scale },
              });
            }
            return { c, both, plain };
          });
          const alone = used(shape).map(({ places, tokens, expert }) => {
            const own = rowsOf(gpu, data, inputs, isGated ? tokens : places);
            const ownTerms = rowsOf(gpu, terms, n * rank, places);
            assert.ok(own && ownTerms);
            const size = matrix.length / experts;
            const one = stored(gpu, matrix.slice(expert * size, (expert + 1) * size), [
              ...[outer, inputs],
            ], storage);
            const [c, both, plain] = [columns, outer, outer].map((width) =>
              gpu.tensor([places.length, width])
            );
            // Both halves of one projection are two with the same terms.
            const doubled = parts === 1
              ? Float32Array.from({ length: 2 * ownTerms.size }, (_, i) => {
                const place = places[Math.floor(i / (2 * rank))];
                return terms[place * rank + i % rank];
              })
              : null;
            const projections = Array.from({ length: isGated ? 2 : 1 }, (_, half) => ({
              firstColumn: half * columns,
              columns,
              firstRow: half * columns,
            }));
            gemm(gpu, "nt", own, one, c, {
              further: {
                inner: doubled ? gpu.from(doubled, [places.length, 2 * rank]) : ownTerms,
                further: ofExpert(gpu, b, rank, expert, experts),
                projections,
              },
              ...(isGated ? { gated: { kept: both } } : {}),
            });
            if (!isGated) gemm(gpu, "nt", own, one, plain, { scale });
            return { c, both, plain };
          });
          const of = (which: "c" | "both" | "plain") => ({
            all: all.map((one) => one[which]),
            alone: alone.map((one) => one[which]),
          });
          return [of("c"), of("both"), of("plain")];
        });
        const label = `${parts} projections, ${storage}, ${tokens} tokens`;
        await assertSame(gpu, made, label);
        if (isGated) await assertSame(gpu, kept, `${label}: gate and up`);
        else await assertSame(gpu, scaled, `${label}: scaled`);
      }
    }
  }
});

onEveryGpu("grouped adapters: gradients of their terms and into the input", async (gpu) => {
  for (const shape of shapes) {
    const { experts, tokens, chosen, width, inner } = shape;
    const pairs = tokens * chosen;
    const dy = randomFloats(pairs * 2 * inner, 13),
      b = randomFloats(experts * 2 * inner * rank, 14);
    const a = randomFloats(experts * 2 * rank * width, 15), begun = randomFloats(pairs * width, 16);
    using steps = gpu.steps();
    const made = steps.run(() => {
      const grouping = grouped(gpu, shape);
      const from = gpu.from(dy, [pairs, 2 * inner]);
      const [bs, as] = [
        gpu.from(b, [experts * 2 * inner, rank]),
        gpu.from(a, [experts * 2 * rank, width]),
      ];
      const all = everyTile.map((tile) => {
        const dInner = gpu.tensor([pairs, 2 * rank]), dx = gpu.from(begun, [pairs, width]);
        const options = { label: "gradient", rowsOf: "places", tile } as const;
        for (const index of [0, 1]) {
          groupedProduct(gpu, "nn", from, { stacked: bs, experts }, grouping, dInner, {
            ...{ ...options, scale, part: { index, count: 2 } },
          });
        }
        groupedProduct(gpu, "nn", dInner, { stacked: as, experts }, grouping, dx, {
          ...{ ...options, accumulate: true },
        });
        return { dInner, dx };
      });
      const alone = used(shape).map(({ places, expert }) => {
        const [own, dx] = [rowsOf(gpu, dy, 2 * inner, places), rowsOf(gpu, begun, width, places)];
        assert.ok(own && dx);
        const dInner = gpu.tensor([places.length, 2 * rank]);
        const bOwn = ofExpert(gpu, b, rank, expert, experts);
        for (const index of [0, 1]) {
          const half = new Float32Array(b.subarray(
            (expert * 2 + index) * inner * rank,
            (expert * 2 + index + 1) * inner * rank,
          ));
          gemm(gpu, "nn", own, gpu.from(half, [inner, rank]), dInner, {
            ...{ depth: inner, columns: rank, scale },
            ...{ firstColumnOfA: index * inner, firstColumn: index * rank },
          });
        }
        gpu.release(bOwn);
        gemm(gpu, "nn", dInner, ofExpert(gpu, a, width, expert, experts), dx, {
          accumulate: true,
        });
        return { dInner, dx };
      });
      const of = (which: "dInner" | "dx") => ({
        all: all.map((one) => one[which]),
        alone: alone.map((one) => one[which]),
      });
      return [of("dInner"), of("dx")];
    });
    await assertSame(gpu, made[0], `terms, ${tokens} tokens`);
    await assertSame(gpu, made[1], `input, ${tokens} tokens`);
  }
});

onEveryGpu(
  "grouped adapters: gradients of both factors, of places alone and by parts",
  async (gpu) => {
    for (const shape of shapes) {
      const { experts, tokens, chosen, inner } = shape;
      const pairs = tokens * chosen;
      const dy = randomFloats(pairs * 2 * inner, 17), terms = randomFloats(pairs * 2 * rank, 18);
      const size = 2 * inner * rank;
      const begun = randomFloats(experts * size, 19);
      using steps = gpu.steps();
      const made = steps.run(() => {
        const grouping = grouped(gpu, shape);
        const [a, b] = [gpu.from(dy, [pairs, 2 * inner]), gpu.from(terms, [pairs, 2 * rank])];
        const all = everyTile.map((tile) => {
          const stacked = gpu.from(begun, [experts * 2 * inner, rank]);
          for (const index of [0, 1]) {
            const part = { index, count: 2 };
            const factors = { a, b, ofTokens: "none", part } as const;
            groupedGradient(gpu, "gradient", factors, grouping, { stacked, experts }, tile);
          }
          return stacked;
        });
        const alone = placesOf(shape).map(({ places }, expert) => {
          const c = ofExpert(gpu, begun, rank, expert, experts);
          const [own, ownTerms] = [
            rowsOf(gpu, dy, 2 * inner, places),
            rowsOf(gpu, terms, 2 * rank, places),
          ];
          if (!own || !ownTerms) return c;
          for (const index of [0, 1]) {
            const half = gpu.from(
              begun.slice(expert * size + index * size / 2, expert * size + (index + 1) * size / 2),
              [inner, rank],
            );
            gemm(gpu, "tn", own, ownTerms, half, {
              ...{ accumulate: true, columns: rank },
              ...{ firstColumnOfA: index * inner, firstColumnOfB: index * rank },
            });
            gpu.copy(half, c.view(index * inner * rank, [inner, rank]));
          }
          return c;
        });
        return { all, alone };
      });
      await assertSame(gpu, made, `${tokens} tokens`);
    }
  },
);
