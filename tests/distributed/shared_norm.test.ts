import assert from "node:assert/strict";
import { gradientReducer } from "../../src/distributed/gradient_reducer.ts";
import { gradientNorm } from "../../src/kernels/optimizer/gradient_norm.ts";
import { SharedNorm } from "../../src/model/decoder/shared_norm.ts";
import { cutIntoSlices, sliceOf } from "../../src/model/decoder/slices.ts";
import { onEveryGpu, randomFloats } from "../kernels/harness.ts";
import { onRanks } from "./in_process.ts";

onEveryGpu(
  "the norm of gradients of which each rank has some slices, to the last bit",
  async (gpu) => {
    // More partial sums than the lanes that add them, so that their order shows.
    const data = [150 * 8192 + 68, 700_000].map((size, i) => randomFloats(size, i + 1, 0.01));
    const sizes = data.map(({ length }) => length);
    const gradients = data.map((one) => gpu.from(one, [one.length]));
    const outputs = {
      norm: gpu.tensor([1]),
      clipScale: gpu.tensor([1]),
      nonFinite: gpu.tensor([1], "u32"),
    };
    gradientNorm(gpu, gradients, outputs, 1);
    const [[norm], [clipScale]] = await gpu.readAll([outputs.norm, outputs.clipScale]);
    for (const size of [2, 3, 5]) {
      const slices = cutIntoSlices(sizes, size);
      const found = await onRanks(size, async (communicator) => {
        const shared = new SharedNorm(gpu, slices, gradientReducer(communicator));
        // What the other ranks look after holds nothing in particular here.
        const own = sizes.map((length) => gpu.from(new Float32Array(length).fill(NaN), [length]));
        for (const slice of slices.filter(({ owner }) => owner === communicator.rank)) {
          gpu.copy(sliceOf(gradients, slice), sliceOf(own, slice));
        }
        await shared.measure(own, 1);
        const [scale] = await gpu.readFloats(shared.clipScale);
        const read = await shared.read();
        shared.release();
        gpu.release(...own);
        return { ...read, scale };
      });
      const expected = { norm, nonFinite: 0, scale: clipScale };
      assert.deepEqual(found, found.map(() => expected), `${size} ranks`);
    }
    gpu.release(...gradients, ...Object.values(outputs));
  },
);
