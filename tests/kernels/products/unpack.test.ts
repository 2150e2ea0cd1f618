import { isQuantised, quantisedTypes } from "../../../src/gpu/tensor.ts";
import assert from "node:assert/strict";
import { join } from "node:path";
import { isKeptAs, overflowsBlocks } from "../../../src/kernels/products/kept_blocks.ts";
import {
  storedBytes,
  type StoredType,
  storedTypes,
} from "../../../src/kernels/parts/stored_type.ts";
import { holdsNonFinite } from "../../../src/kernels/parts/stored_values.ts";
import { gatherRows } from "../../../src/kernels/layers/gather_rows.ts";
import { unpack } from "../../../src/kernels/products/unpack.ts";
import { toStorage } from "../../../src/model/decoder/half_precision.ts";
import { readTensors } from "../../model/safetensors_tensors.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

const tensors = readTensors(
  join(import.meta.dirname ?? "", "..", "..", "fixtures", "stored_types.safetensors"),
);
const types = Object.keys(storedTypes) as StoredType[];
const packedOf = (type: StoredType) => tensors[`${type}.packed`].data as Uint8Array<ArrayBuffer>;
const valuesOf = (type: StoredType) => tensors[`${type}.values`].data as Float32Array<ArrayBuffer>;

const words = (bytes: Uint8Array) => {
  const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  padded.set(bytes);
  return new Uint32Array(padded.buffer);
};

onEveryGpu("blocks of every type have the values that ggml's package reads", async (gpu) => {
  for (const type of types) {
    const values = valuesOf(type);
    assert.equal(packedOf(type).length, storedBytes(type, values.length));
    // Two pieces, the second at an odd number of blocks, into the middle of the target.
    const cut = 256 * 5;
    const target = gpu.zeros([values.length + 12]);
    for (const [first, end] of [[0, cut], [cut, values.length]]) {
      const bytes = packedOf(type).slice(storedBytes(type, first), storedBytes(type, end));
      const packed = gpu.from(words(bytes), [words(bytes).length]);
      unpack(gpu, packed, target, {
        type,
        elements: end - first,
        firstElement: first,
        width: 256,
        targetStart: 8,
        interleavedHead: 0,
      });
      gpu.release(packed);
    }
    const actual = await gpu.readFloats(target);
    gpu.release(target);
    assert.deepEqual([...actual.slice(0, 8), ...actual.slice(-4)], Array(12).fill(0));
    assertClose(actual.subarray(8, -4), values, {
      absolute: 2e-5,
      relative: 2e-7,
      why: `${type}: a product and a sum of up to 200, fused or rounded twice`,
    });
    if (!/_1|_[45]K/.test(type)) {
      // But for the sign of zero, which the minimum of -8 scales takes from Q4_0.
      const unsigned = (numbers: Float32Array) => numbers.map((number) => number + 0);
      assert.deepEqual(unsigned(actual.slice(8, -4)), unsigned(values), `${type} is exact`);
    }
  }
});

onEveryGpu("into quantised blocks: what f32 memory holds, to the last bit", async (gpu) => {
  const piece = { firstElement: 0, width: 256, targetStart: 256 };
  for (const dtype of quantisedTypes) {
    for (const type of types.filter((type) => isKeptAs(dtype, type))) {
      const elements = valuesOf(type).length;
      const bytes = words(packedOf(type));
      const packed = gpu.from(bytes, [bytes.length]);
      const whole = gpu.zeros([256 + elements]), blocks = gpu.zeros([256 + elements], dtype);
      for (const to of [whole, blocks]) {
        // Rows move as whole rows do.
        unpack(gpu, packed, to, { ...piece, type, elements, interleavedHead: 4 });
      }
      const count = 1 + elements / 256;
      const rows = gpu.from(Uint32Array.from({ length: count }, (_, i) => i), [count]);
      const read = gpu.tensor([count, 256]);
      gatherRows(gpu, blocks.reshape(count, 256), rows, read);
      assert.deepEqual(
        await gpu.readFloats(read),
        await gpu.readFloats(whole),
        `${type}, ${dtype}`,
      );
      gpu.release(packed, whole, blocks, rows, read);
    }
  }
});

onEveryGpu("interleaved rows of a head are put back", async (gpu) => {
  const [rows, width, headDim] = [32, 8, 16];
  const data = randomFloats(rows * width, 3);
  const packed = gpu.from(new Uint32Array(data.buffer), [data.length]);
  const target = gpu.zeros([data.length]);
  // In two pieces: the second begins within a head.
  for (const [first, elements] of [[0, 20 * width], [20 * width, 12 * width]]) {
    const bytes = gpu.from(new Uint32Array(data.buffer, first * 4, elements), [elements]);
    const piece = { type: "F32", elements, firstElement: first, width, targetStart: 0 } as const;
    unpack(gpu, bytes, target, { ...piece, interleavedHead: headDim });
    gpu.release(bytes);
  }
  const actual = await gpu.readFloats(target);
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / headDim), within = row % headDim;
    const moved = head * headDim + (within % 2) * (headDim / 2) + Math.floor(within / 2);
    assert.deepEqual(
      actual.slice(moved * width, (moved + 1) * width),
      data.slice(row * width, (row + 1) * width),
    );
  }
  gpu.release(packed, target);
});

onEveryGpu("groups of columns are put back, into memory of every kind", async (gpu) => {
  const [width, keyHeads, perKey, each] = [768, 3, 4, 64];
  const columnHeads = { keyHeads, perKey, each };
  for (const dtype of ["f32", "f16", "bf16", ...quantisedTypes] as const) {
    for (const type of types.filter((type) => !isQuantised(dtype) || isKeptAs(dtype, type))) {
      const rows = Math.floor(valuesOf(type).length / width), elements = rows * width;
      const bytes = words(packedOf(type).slice(0, storedBytes(type, elements)));
      const packed = gpu.from(bytes, [bytes.length]);
      const place = { firstElement: 0, targetStart: 0, interleavedHead: 0 };
      const piece = { ...place, type, elements, width };
      const numbers = await Promise.all([columnHeads, undefined].map(async (columnHeads) => {
        const target = gpu.zeros([elements], dtype);
        unpack(gpu, packed, target, { ...piece, columnHeads });
        const all = gpu.from(Uint32Array.from({ length: rows }, (_, i) => i), [rows]);
        const read = gpu.tensor([rows, width]);
        gatherRows(gpu, target.reshape(rows, width), all, read);
        const found = await gpu.readFloats(read);
        gpu.release(target, all, read);
        return found;
      }));
      const [moved, inFile] = numbers;
      for (let group = 0; group < rows * keyHeads * perKey; group++) {
        const [row, within] = [Math.floor(group / 12), group % 12];
        const k = Math.floor(within / perKey), r = within % perKey;
        const source = row * width + (r * keyHeads + k) * each;
        assert.deepEqual(
          moved.slice(group * each, (group + 1) * each),
          inFile.slice(source, source + each),
          `${type}, ${dtype}, group ${group}`,
        );
      }
      gpu.release(packed);
    }
  }
  const packed = gpu.zeros([64], "u32"), target = gpu.zeros([64]);
  const piece = { ...{ type: "F32", elements: 64, firstElement: 0, width: 32 } as const };
  for (
    const columnHeads of [{ keyHeads: 2, perKey: 2, each: 4 }, { keyHeads: 2, perKey: 8, each: 2 }]
  ) {
    assert.throws(
      () =>
        unpack(gpu, packed, target, { ...piece, targetStart: 0, interleavedHead: 0, columnHeads }),
      /do not fit f32/,
    );
  }
  gpu.release(packed, target);
});

onEveryGpu("into f16 and bf16 memory: rounded to nearest even", async (gpu) => {
  const ties = Float32Array.from(
    // Midway between neighbours, subnormal, smallest and largest f16 numbers, and numbers next to those.
    [
      1 + 2 ** -11,
      1 + 3 * 2 ** -11,
      2 ** -14,
      2 ** -15 + 2 ** -25,
      2 ** -24,
      2 ** -25,
      3 * 2 ** -26,
    ]
      .concat([
        65504,
        65519,
        0,
        -0,
        -(1 + 2 ** -11),
        -(2 ** -24) * 1.5,
        1 + 2 ** -8,
        1 + 3 * 2 ** -8,
        0.1,
      ]),
  );
  const packed = gpu.from(new Uint32Array(ties.buffer), [ties.length]);
  const piece = { firstElement: 0, targetStart: 4, interleavedHead: 0 };
  for (const dtype of ["f16", "bf16"] as const) {
    const target = gpu.zeros([4 + ties.length], dtype);
    unpack(gpu, packed, target, { type: "F32", elements: ties.length, width: 8, ...piece });
    const expected = toStorage(Float32Array.of(0, 0, 0, 0, ...ties), dtype);
    assert.deepEqual(await gpu.read(target), expected, dtype);
    gpu.release(target);
    for (const type of types) {
      const elements = valuesOf(type).length;
      const bytes = words(packedOf(type));
      const source = gpu.from(bytes, [bytes.length]);
      const whole = gpu.zeros([4 + elements]), half = gpu.zeros([4 + elements], dtype);
      for (const to of [whole, half]) {
        unpack(gpu, source, to, { type, elements, width: 256, ...piece });
      }
      const rounded = toStorage(await gpu.readFloats(whole), dtype);
      assert.deepEqual(await gpu.read(half), rounded, `${type} in ${dtype}`);
      gpu.release(source, whole, half);
    }
  }
  gpu.release(packed);
});

Deno.test("NaN and infinity are found in every type, in elements or scales", () => {
  for (const type of types) {
    const bytes = packedOf(type).slice();
    assert.equal(holdsNonFinite(type, bytes), false, type);
    const { bytes: size } = storedTypes[type];
    const scale = { Q6_K: 208 }[type as string] ?? 0;
    const at = size * (bytes.length / size - 1) + scale + (type === "F32" ? 2 : 0);
    const pattern = type === "F32" || type === "BF16" ? 0x7f80 : 0xfc00;
    bytes[at] = pattern & 0xff;
    bytes[at + 1] = pattern >> 8;
    assert.equal(holdsNonFinite(type, bytes), true, type);
  }
});

Deno.test("minima beyond f16 are found", () => {
  const bytes = packedOf("Q4_0").slice();
  assert.equal(overflowsBlocks("Q4_0", bytes), false);
  const scales = new DataView(bytes.buffer, bytes.length - storedTypes.Q4_0.bytes);
  for (const [scale, overflows] of [[8188, false], [-8192, true]] as const) {
    scales.setFloat16(0, scale, true);
    assert.equal(overflowsBlocks("Q4_0", bytes), overflows, `${scale}`);
  }
});
