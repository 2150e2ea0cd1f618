import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { Readback, stagingBytes } from "../../src/gpu/readback.ts";
import { pieceBytes, readPieces, writePiece } from "../../src/gpu/tensor_pieces.ts";
import { onEveryGpu } from "../kernels/harness.ts";

/** Every word tells its place and its tensor. */
const pattern = (size: number, tensor: number) =>
  Uint32Array.from({ length: size }, (_, i) => (i * 2654435761 + tensor) >>> 0);

/** Sizes of the staging buffers that are made while `body` runs. */
async function stagingSizes({ device }: Gpu, body: () => Promise<void>): Promise<number[]> {
  const sizes: number[] = [];
  const { createBuffer } = device;
  device.createBuffer = function (descriptor) {
    if (descriptor.usage & GPUBufferUsage.MAP_READ) sizes.push(descriptor.size);
    return createBuffer.call(this, descriptor);
  };
  try {
    await body();
  } finally {
    device.createBuffer = createBuffer;
  }
  return sizes;
}

onEveryGpu("readback: a read longer than a staging buffer goes through small ones", async (gpu) => {
  const words = stagingBytes / 4;
  const sizes = [3, words - 1, 5, 2 * words + 7, 1, words];
  const data = sizes.map((size, i) => pattern(size, i));
  const tensors = data.map((array) => gpu.from(array, [array.length]));
  const made = await stagingSizes(gpu, async () => {
    const read = await gpu.readAll(tensors);
    read.forEach((array, i) => assert.ok(Buffer.compare(bytesOf(array), bytesOf(data[i])) === 0));
  });
  assert.ok(made.every((size) => size <= stagingBytes), `made ${made}`);
  gpu.release(...tensors);
});

onEveryGpu("readback: what is kept for the next read has a bound", async (gpu) => {
  const readback = await Readback.open(gpu.device, gpu.info.engine);
  const source = gpu.tensor([stagingBytes / 4]);
  const { buffer } = source.storage;
  const waits = Array.from({ length: 5 }, () => {
    const encoder = gpu.device.createCommandEncoder();
    const wait = readback.record(encoder, [{ buffer, offset: 0, bytes: stagingBytes }]);
    gpu.device.queue.submit([encoder.finish()]);
    return wait;
  });
  for (const wait of waits) await wait();
  assert.ok(readback.idleBytes > 0 && readback.idleBytes <= 2 * stagingBytes);
  gpu.release(source);
});

onEveryGpu("readback: signals, requests and timers get their turn between reads", async (gpu) => {
  const source = gpu.zeros([4]);
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  // Reads alone, with nothing else to wait for, until a generous time for one turn is over.
  const end = performance.now() + 20_000;
  try {
    while (turns === 0 && performance.now() < end) await gpu.readAll([source]);
  } finally {
    clearInterval(timer);
  }
  assert.ok(turns > 0, "20 seconds of reads left a timer of a millisecond waiting");
  gpu.release(source);
});

onEveryGpu("tensor pieces: a tensor goes out and comes back in pieces", async (gpu) => {
  const data = new Uint16Array(pattern(pieceBytes / 2 + 3, 1).buffer, 0, pieceBytes + 6);
  const source = gpu.from(data, [2, pieceBytes / 2 + 3], "bf16");
  const target = gpu.zeros([data.length], "bf16");
  const lengths: number[] = [];
  let first = 0;
  for await (const piece of readPieces(gpu, source)) {
    lengths.push(piece.byteLength);
    await writePiece(gpu, target, first, piece);
    first += piece.length;
  }
  assert.deepEqual(lengths, [pieceBytes, pieceBytes, 12]);
  assert.ok(Buffer.compare(bytesOf(await gpu.read(target)), bytesOf(data)) === 0);
  gpu.release(source, target);
});

/** `assert.deepEqual` takes seconds for millions of elements. */
function bytesOf(array: ArrayBufferView): Buffer {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}
