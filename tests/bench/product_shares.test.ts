import assert from "node:assert/strict";
import { productShare } from "../../bench/machine_code/product_shares.ts";

const tile = { rm: 8, rn: 8, lx: 16, ly: 16, tk: 16 };
const loop = { instructions: 1280, multiplyAdds: 1024 };
const gpu = { name: "", cores: 8, lanes: 128, clock: 1e9, bandwidth: 1e15 };
const shape = { layout: "nt", storage: "f32", rows: 512, columns: 256, depth: 1024 } as const;
const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1e-12, `${actual}, expected ${expected}`);

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
