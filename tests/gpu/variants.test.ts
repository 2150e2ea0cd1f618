import assert from "node:assert/strict";
import { AskedClasses, VariantChoices, type VariedOperation } from "../../src/gpu/variants.ts";
import { gemm } from "../../src/kernels/products/gemm.ts";
import { gemmOperation } from "../../src/kernels/products/gemm_variants.ts";
import { onEveryGpu } from "../kernels/harness.ts";

/** Sums of so many numbers; more than ten are many. */
const summing: VariedOperation<number, { readonly name: string }> = {
  name: "sum",
  classOf: (count) => count > 10 ? "many" : "few",
  variantsFor: (_, count) =>
    count > 100 ? [{ name: "tree" }, { name: "line" }] : [{ name: "line" }],
  flops: (count) => count,
};

onEveryGpu("variants: what is measured goes before what abilities suggest", ({ tuning }) => {
  const choices = new VariantChoices(tuning, null);
  const chosen = (count: number) => choices.of(summing, count).name;
  assert.deepEqual([5, 50, 200].map(chosen), ["line", "line", "tree"]);
  const measured = { suggested: "tree", fastest: "line", excluded: [] };
  choices.table = { sum: { many: measured }, other: { many: { ...measured, fastest: "tree" } } };
  assert.equal(chosen(200), "line");
  choices.table = { sum: { many: { ...measured, fastest: "gone" } } };
  assert.equal(chosen(200), "tree", "a name that nothing has is passed over");
  choices.table = { sum: { many: { suggested: "line", fastest: "line", excluded: [] } } };
  assert.equal(chosen(200), "tree", "measured where another was suggested");
  choices.table = { sum: { many: { suggested: "line", fastest: "line", excluded: ["tree"] } } };
  assert.equal(chosen(200), "line", "what is wrong is not taken anywhere in the class");
  return Promise.resolve();
});

onEveryGpu("variants: classes are gathered with their largest shape and all their work", (gpu) => {
  const asked = new AskedClasses();
  const choices = new VariantChoices(gpu.tuning, asked);
  for (const count of [3, 20, 70, 50]) choices.of(summing, count);
  assert.deepEqual(asked.of(summing), [
    { shapeClass: "few", shape: 3, flops: 3 },
    { shapeClass: "many", shape: 70, flops: 140 },
  ]);
  return Promise.resolve();
});

onEveryGpu("variants: a rehearsal tells its device which classes it met", (gpu) => {
  const rehearsal = gpu.rehearsal();
  const [a, b, c] = [[3, 8], [48, 8], [3, 48]].map((shape) => rehearsal.tensor(shape));
  gemm(rehearsal, "nt", a, b, c);
  const shape = { layout: "nt", storage: "f32", rows: 3, columns: 48, depth: 8 } as const;
  const shapeClass = gemmOperation.classOf(shape);
  const flops = 2 * 3 * 48 * 8;
  assert.deepEqual(gpu.rehearsed.of(gemmOperation), [{ shapeClass, shape, flops }]);
  return Promise.resolve();
});
