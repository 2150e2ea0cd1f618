/** Tensors of any size between the GPU and the host, some elements at a time. */

import type { Gpu } from "./gpu.ts";
import { stagingBytes } from "./readback.ts";
import { bytesOf, type HostArray, type Tensor } from "./tensor.ts";

/** Bytes of a piece. Host memory holds a few of them, however long the tensor. */
export const pieceBytes = stagingBytes;

/**
 * Reads a tensor's elements in order. Nobody may write to it before the last piece was read.
 *
 * @throws Error with the first GPU error since the last read
 */
export async function* readPieces(gpu: Gpu, tensor: Tensor): AsyncGenerator<HostArray> {
  const flat = tensor.reshape(tensor.size);
  const most = pieceBytes / bytesOf(tensor.dtype);
  for (let first = 0; first < flat.size; first += most) {
    yield await gpu.read(flat.view(first, [Math.min(most, flat.size - first)]));
  }
}

/**
 * Writes elements into a tensor and waits until they are there: otherwise the pieces on their way pile up
 * in host memory.
 *
 * @param first where they begin, counted in elements; a multiple of 4 bytes
 */
export async function writePiece(
  gpu: Gpu,
  tensor: Tensor,
  first: number,
  data: HostArray,
): Promise<void> {
  gpu.write(tensor.reshape(tensor.size).view(first, [data.length]), data);
  await gpu.finish();
}
