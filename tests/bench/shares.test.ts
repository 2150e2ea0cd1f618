import assert from "node:assert/strict";
import {
  attentionShare,
  tiledAttention,
  walkInstructions,
} from "../../bench/machine_code/attention_shares.ts";
import {
  productShare,
  streamedShare,
  waitingShare,
} from "../../bench/machine_code/product_shares.ts";
import { decodeShare, laneInstructions } from "../../bench/machine_code/streaming_shares.ts";
import type { GemmVariant } from "../../src/kernels/products/gemm_variants.ts";
import { attentionTile } from "../../src/kernels/attention/attention_tile.ts";

const tile = { rm: 8, rn: 8, lx: 16, ly: 16, tk: 16 };
const loop = { instructions: 1280, multiplyAdds: 1024 };
const gpu = { name: "", cores: 8, lanes: 128, clock: 1e9, bandwidth: 1e15 };
const shape = { layout: "nt", storage: "f32", rows: 512, columns: 256, depth: 1024 } as const;
const near = (actual: number | null, expected: number) =>
  assert.ok(Math.abs((actual ?? NaN) - expected) < 1e-12, `${actual}, expected ${expected}`);

Deno.test("a product whose grid fills the cores reaches its share of multiply-adds", () => {
  near(productShare(shape, tile, loop, gpu), 1024 / 1280);
});

Deno.test("cores without a workgroup and what hangs over an edge are lost", () => {
  near(productShare({ ...shape, rows: 384 }, tile, loop, gpu), 0.8 * 6 / 8);
  near(productShare({ ...shape, rows: 511 }, tile, loop, gpu), 0.8 * 511 / 512);
});

Deno.test("workgroup memory counts where it takes longer than the instructions", () => {
  // 8 reads of B by 16 lanes take 2 cycles each, 8 of A one, for four terms of 32 lanes: 48 cycles a term.
  const fast = { instructions: 16, multiplyAdds: 16 };
  near(productShare(shape, tile, fast, gpu), 64 * 256 / 128 / 48);
});

Deno.test("a product that memory limits reaches its limit when nothing else takes longer", () => {
  const bandwidth = 4 * (512 * 1024 + 256 * 1024 + 512 * 256) / 1e-3;
  near(productShare(shape, tile, loop, { ...gpu, bandwidth }), 1);
});

Deno.test("a streamed product's sums and copies are counted by the lanes that are at work", () => {
  const row = { layout: "nt", storage: "f32", rows: 1, columns: 64, depth: 1024 } as const;
  const streamed = { rows: 1, columns: 8, terms: 512, lanes: 128 } as const;
  const loops = [[0, 100], [1, 64]].map(([depth, instructions]) => ({
    ...{ depth, instructions },
    ...{ multiplyAdds: depth, matrixProducts: 0 },
  }));
  const code = { loops, instructions: 264, subgroup: 32 };
  // One workgroup a core: 32 loops by a quarter of its lanes, two slabs and what is done once by all.
  const cycles = 32 * 64 / 4 + 2 * 100 + 100;
  const ideal = 64 * 1024 / (8 * 128);
  near(streamedShare(row, streamed, code, gpu), ideal / cycles);
  near(streamedShare({ ...row, columns: 65 }, streamed, code, gpu), ideal * 65 / 64 / (2 * cycles));
  const unrolled = [{ ...loops[0], multiplyAdds: 160 }];
  assert.equal(streamedShare(row, streamed, { ...code, loops: unrolled }, gpu), null);
});

Deno.test("waits: a tile asks for memory slab by slab, a streamed product ahead, and its chain remains", () => {
  const row = { layout: "nt", storage: "f32", rows: 1, columns: 64, depth: 1024 } as const;
  const bytes = 4 * (1024 + 64 * 1024 + 64);
  // Memory that takes as long as 64 waits of 0.6 µs.
  const limits = { ...gpu, bandwidth: bytes / (64 * 0.6e-6) };
  const tiled: GemmVariant = {
    name: "",
    sharing: "tiled",
    isAhead: false,
    tile: { rm: 1, rn: 4, lx: 8, ly: 4, tk: 8 },
  };
  // 128 slabs of 0.6 µs and 32 ns, of 8 fma of 4 ns.
  near(waitingShare(row, tiled, limits), 64 * 0.6 / (128 * 0.632));
  const streamed: GemmVariant = {
    name: "",
    sharing: "streamed",
    tile: { rows: 1, columns: 8, terms: 256, lanes: 128 },
  };
  near(waitingShare(row, streamed, limits), 1);
  // Four slabs of 256 fma, 1.024 µs each, after the first wait.
  const fast = { ...gpu, bandwidth: bytes / 1e-6 };
  near(waitingShare(row, streamed, fast), 1 / (0.6 + 4 * 1.024));
  // The last slab has 24 terms.
  const ragged = { ...row, depth: 1048 };
  const ofRagged = { ...gpu, bandwidth: 4 * (1048 + 64 * 1048 + 64) / 1e-6 };
  near(waitingShare(ragged, streamed, ofRagged), 1 / (0.6 + 4 * 1.024 + 0.096));
});

const forward = tiledAttention[0];
const attentionOf = (loops: readonly (readonly [depth: number, instructions: number])[]) =>
  loops.map(([depth, instructions]) => ({
    ...{ depth, instructions },
    ...{ multiplyAdds: 0, matrixProducts: 0 },
  }));

const summing = (instructions: readonly number[]) =>
  attentionOf(instructions.map((count) => [0, count])).map((loop) => ({
    ...loop,
    multiplyAdds: 1,
  }));

Deno.test("attention's walk counts each loop as often as it runs, and others than expected are refused", () => {
  const wide = attentionTile({ lanes: "gpu", limits: { workgroupBytes: 65536 } }, 64, 64);
  // Segments, the walk, four stages of scores, and two blocks each of softmax and two vectors.
  const loops = attentionOf([[0, 9], [0, 7], [1, 100], [2, 600], [2, 50], [2, 700], [2, 800]]);
  assert.equal(walkInstructions(loops, forward, wide), 100 + 4 * 600 + 2 * (50 + 700 + 800));
  assert.throws(() => walkInstructions(loops.slice(0, -1), forward, wide), /in 3 loops, not in 4/);
  const work = { sequences: 4, length: 1024, heads: 14, kvHeads: 2, headDim: 64 };
  // A pair takes 128 multiply-adds, a tile 64 · 32 pairs; a query sees half of its last 64 keys.
  const ideal = 2 * 64 * 64 * 32 / 64;
  const seen = 1024 * 1025 / 2 / (64 * 32 * 16 * 17);
  const walk = attentionOf([[0, 7], [1, 2 * ideal], [2, 0], [2, 0], [2, 0], [2, 0]]);
  near(attentionShare(work, forward, { loops: walk }, wide, gpu), seen / 2);
});

Deno.test("decoding in spans is limited by memory, with what the join takes of it", () => {
  const code = {
    kernel: "attention decode D=64 SPLIT GROUP=7 SLAB=4 PARTS=8 HEADS=4",
    instructions: 100,
    loops: summing([10, 20]),
  };
  const work = { slots: 64, context: 1024, heads: 14, kvHeads: 2, headDim: 64 };
  const slow = { ...gpu, bandwidth: 1e6 };
  near(decodeShare(work, code, slow), 1 / (1 + 7 * 66 / 64 / 16));
  // 1024 workgroups of 128 lanes on 8 cores, which run the scores' loop four times.
  const fast = decodeShare(work, code, gpu);
  near(fast, 2 * 64 * 1024 * 14 * 64 / (8 * 128) / (1024 / 8 * (100 + 3 * 10)));
});

Deno.test("a lane's instructions are those of its loops as often as they run", () => {
  const loops = [...attentionOf([[0, 5]]), ...summing([10, 20])];
  assert.equal(laneInstructions({ instructions: 100, loops }, [4, 3]), 100 + 3 * 10 + 2 * 20);
  const unrolled = { instructions: 100, loops: summing([10]) };
  assert.equal(laneInstructions(unrolled, [4, 1]), 100 + 3 * 10);
  assert.throws(() => laneInstructions(unrolled, [4, 2]), /2 loops .* expected, there are 1/);
});
