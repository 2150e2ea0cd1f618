/** Element types a GPU tensor may have. f16 and bf16 are stored two to a 32-bit word. */
export type DataType = "f32" | "u32" | "i32" | "f16" | "bf16";

/** Bytes of one element. */
export function bytesOf(dtype: DataType): number {
  return dtype === "f16" || dtype === "bf16" ? 2 : 4;
}

/** Host data of a tensor: f16 and bf16 come as the raw 16-bit patterns. */
export type HostArray = Float32Array | Uint32Array | Int32Array | Uint16Array;

/** The element type that an array is taken to hold when none is named. */
export function dataTypeOf(data: HostArray): DataType {
  if (data instanceof Uint32Array) return "u32";
  if (data instanceof Int32Array) return "i32";
  return data instanceof Uint16Array ? "f16" : "f32";
}

/** A GPU buffer the pool owns; `id` names it in the bind-group cache. */
export interface PooledBuffer {
  readonly id: number;
  readonly buffer: GPUBuffer;
  readonly bytes: number;
}

/**
 * A typed, shaped range of a GPU buffer. It is a handle: copying it copies no data, and whoever
 * allocated it releases it (directly or by ending the scope it was allocated in).
 */
export class Tensor {
  /** Number of elements. */
  readonly size: number;
  /** Bytes of the data, rounded up to whole 32-bit words. */
  readonly bytes: number;

  constructor(
    readonly storage: PooledBuffer,
    readonly shape: readonly number[],
    readonly dtype: DataType,
    readonly byteOffset: number,
    readonly label: string,
  ) {
    this.size = shape.reduce((product, n) => product * n, 1);
    this.bytes = Math.ceil((this.size * bytesOf(dtype)) / 4) * 4;
  }

  /**
   * A window on the same memory. `offset` counts elements; to be bound to a kernel it must fall on
   * a multiple of 256 bytes, the strictest alignment WebGPU may ask for.
   */
  view(offset: number, shape: readonly number[], label = this.label): Tensor {
    const byteOffset = this.byteOffset + offset * bytesOf(this.dtype);
    const window = new Tensor(this.storage, shape, this.dtype, byteOffset, label);
    if (offset < 0 || window.byteOffset + window.bytes > this.byteOffset + this.bytes) {
      throw new Error(`view of ${this.label}: [${shape}] at ${offset} leaves [${this.shape}]`);
    }
    return window;
  }

  /** The same elements under another shape. */
  reshape(...shape: number[]): Tensor {
    const result = new Tensor(this.storage, shape, this.dtype, this.byteOffset, this.label);
    if (result.size !== this.size) {
      throw new Error(`reshape of ${this.label}: [${this.shape}] has not the size of [${shape}]`);
    }
    return result;
  }

  /** Bytes read from this tensor as an array of its elements. */
  arrayOf(bytes: ArrayBuffer): HostArray {
    switch (this.dtype) {
      case "f32":
        return new Float32Array(bytes);
      case "u32":
        return new Uint32Array(bytes);
      case "i32":
        return new Int32Array(bytes);
      default:
        return new Uint16Array(bytes, 0, this.size);
    }
  }
}
