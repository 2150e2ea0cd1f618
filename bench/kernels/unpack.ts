import { type StoredType, storedTypes } from "../../src/kernels/parts/stored_type.ts";
import { unpack } from "../../src/kernels/products/unpack.ts";
import { type MakeBenchmark, sampleIndices } from "../benchmark.ts";

/** Every block has these scales, as f16 bit patterns and as the numbers they are. */
const [scaleBits, scale] = [0x2c00, 0.0625];
const [minimumBits, minimum] = [0xb800, -0.5];

/** A block of weights in a file's format, and the numbers it stands for. */
function makeBlock(type: StoredType, index: number): { bytes: Uint8Array; values: number[] } {
  const bytes = new Uint8Array(storedTypes[type].bytes);
  const view = new DataView(bytes.buffer);
  const random = (i: number) => Math.imul(index * 64 + i + 1, 0x9e3779b1) >>> 24;
  if (type === "BF16") {
    view.setUint16(0, 0x3f80 + (random(0) & 0x7f), true);
    return { bytes, values: [1 + (random(0) & 0x7f) / 128] };
  }
  view.setUint16(0, scaleBits, true);
  if (type === "Q8_0") {
    for (let i = 0; i < 32; i++) bytes[2 + i] = random(i);
    return { bytes, values: Array.from({ length: 32 }, (_, i) => scale * (random(i) << 24 >> 24)) };
  }
  view.setUint16(2, minimumBits, true);
  for (let i = 0; i < 16; i++) bytes[4 + i] = random(i);
  const four = (i: number) => i < 16 ? random(i) & 15 : random(i - 16) >> 4;
  return { bytes, values: Array.from({ length: 32 }, (_, i) => scale * four(i) + minimum) };
}

/** Weights of a file's format into f32. */
export const makeUnpack: MakeBenchmark = (bench, { size: { rows, width } }, variant) => {
  const { gpu } = bench;
  const type = variant.toUpperCase() as StoredType;
  const block = storedTypes[type];
  const elements = rows * width;
  const blocks = elements / block.elements;
  const bytes = new Uint8Array(Math.ceil(blocks * block.bytes / 4) * 4);
  for (let b = 0; b < blocks; b++) bytes.set(makeBlock(type, b).bytes, b * block.bytes);
  const packed = bench.integers(new Uint32Array(bytes.buffer));
  const weights = bench.zeros([elements]);
  const piece = { type, elements, firstElement: 0, width, targetStart: 0, interleavedHead: 0 };
  return {
    work: blocks * block.bytes + 4 * elements,
    launch: () => unpack(gpu, packed.tensor, weights, piece),
    check: async () => {
      const result = await gpu.readFloats(weights);
      return sampleIndices(elements).map((at) => {
        const { values } = makeBlock(type, Math.floor(at / block.elements));
        const expected = values[at % block.elements];
        return { what: `weights[${at}]`, actual: result[at], expected, bound: 0 };
      });
    },
  };
};
