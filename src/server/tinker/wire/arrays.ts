/** Arrays as Tinker's messages carry them: little-endian bytes without a header. */

import { UserError } from "../../../base/user_error.ts";
import { DType, type Tensor } from "./tinker_pb.ts";

/** The bytes of an array. */
export function arrayBytes(array: Float32Array | Int32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** @throws UserError when they are no whole number of 32-bit numbers, or one is negative */
export function tokenIds(bytes: Uint8Array, what: string): Uint32Array {
  return unsigned(new Int32Array(whole(bytes, 4, what)), what);
}

/**
 * A tensor of one dimension as floats.
 *
 * @throws UserError naming what it is instead
 */
export function floats(tensor: Tensor, what: string): Float32Array {
  const bytes = dense(tensor, what);
  if (tensor.dtype === DType.FLOAT32) return new Float32Array(whole(bytes, 4, what));
  if (tensor.dtype === DType.BFLOAT16) {
    const words = Uint32Array.from(new Uint16Array(whole(bytes, 2, what)), (half) => half << 16);
    return new Float32Array(words.buffer);
  }
  throw new UserError(`${what}: its dtype is ${DType[tensor.dtype]}; send FLOAT32 or BFLOAT16.`);
}

/**
 * A tensor of one dimension as token ids.
 *
 * @throws UserError naming what it is instead
 */
export function ids(tensor: Tensor, what: string): Uint32Array {
  const bytes = dense(tensor, what);
  if (tensor.dtype === DType.INT32) return tokenIds(bytes, what);
  if (tensor.dtype === DType.INT64) {
    const wide = new BigInt64Array(whole(bytes, 8, what));
    return unsigned(Array.from(wide, Number), what);
  }
  throw new UserError(`${what}: its dtype is ${DType[tensor.dtype]}; send INT64 or INT32.`);
}

function dense({ encoding, shape }: Tensor, what: string): Uint8Array {
  if (shape.length > 1) {
    throw new UserError(`${what}: it has the shape [${shape}]; one dimension is supported.`);
  }
  if (encoding.case === "dense") return encoding.value;
  if (encoding.case === undefined) return new Uint8Array();
  throw new UserError(`${what}: sparse tensors are not built; send it dense.`);
}

/** A copy, so that it begins where numbers may. */
function whole(bytes: Uint8Array, size: number, what: string): ArrayBuffer {
  if (bytes.length % size === 0) return Uint8Array.from(bytes).buffer;
  throw new UserError(`${what}: ${bytes.length} bytes are no whole number of elements.`);
}

function unsigned(values: ArrayLike<number>, what: string): Uint32Array {
  const result = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    if (values[i] < 0 || values[i] >= 2 ** 31) {
      throw new UserError(`${what}: ${values[i]} is no token.`);
    }
    result[i] = values[i];
  }
  return result;
}
