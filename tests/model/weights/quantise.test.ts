/** Quantised blocks against those that ggml's own library makes of the same weights. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { unpack } from "../../../src/kernels/products/unpack.ts";
import { quantise, type WrittenBlock, writtenBlocks } from "../../../src/model/weights/quantise.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { readTensors } from "../safetensors_tensors.ts";

const WIDTH = 256;
const tensors = readTensors(
  join(import.meta.dirname ?? "", "..", "..", "fixtures", "quantised.safetensors"),
);
const values = tensors.values.data as Float32Array<ArrayBuffer>;

/** The root mean square by which blocks miss each row of the values. */
async function errorsOf(
  gpu: Gpu,
  type: WrittenBlock,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<number[]> {
  const words = new Uint32Array(bytes.buffer);
  const packed = gpu.from(words, [words.length]);
  const target = gpu.zeros([values.length]);
  unpack(gpu, packed, target, {
    type,
    elements: values.length,
    firstElement: 0,
    width: WIDTH,
    targetStart: 0,
    interleavedHead: 0,
  });
  const read = await gpu.readFloats(target);
  gpu.release(packed, target);
  return Array.from({ length: values.length / WIDTH }, (_, row) => {
    let squares = 0;
    for (let i = row * WIDTH; i < (row + 1) * WIDTH; i++) squares += (read[i] - values[i]) ** 2;
    return Math.sqrt(squares / WIDTH);
  });
}

Deno.test("quantise: blocks of one scale are ggml's bytes", () => {
  for (const type of ["Q8_0", "Q4_0"] as const) {
    assert.deepEqual(quantise(type, values), tensors[`${type}.packed`].data, type);
  }
});

onEveryGpu("quantise: blocks of every type are as near as ggml's", async (gpu) => {
  for (const type of writtenBlocks) {
    const ours = await errorsOf(gpu, type, quantise(type, values));
    const theirs = tensors[`${type}.error`].data as Float32Array;
    ours.forEach((error, row) => {
      const largest = Math.max(...values.subarray(row * WIDTH, (row + 1) * WIDTH).map(Math.abs));
      // Both search scale and offset of Q4_K, over other first guesses: some rows come out better, some worse. What
      // is left where levels fit exactly is how f16 rounds the two units, 2⁻¹¹ at most.
      const most = type === "Q4_K"
        ? 1.1 * theirs[row] + 2 ** -12 * largest
        : theirs[row] * 1.000001;
      assert.ok(error <= most + 1e-7, `${type}, row ${row}: ${error}, ggml ${theirs[row]}`);
    });
    const mean = (errors: readonly number[]) => errors.reduce((sum, error) => sum + error, 0);
    assert.ok(
      mean(ours) <= 1.02 * mean([...theirs]),
      `${type}: ${mean(ours)}, ${mean([...theirs])}`,
    );
  }
});
