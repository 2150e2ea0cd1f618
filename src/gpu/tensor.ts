/**
 * Element types a GPU tensor may have, and how many elements lie in how many bytes that belong together. f16 and bf16
 * are stored two to a 32-bit word. Those from q4 on are quantised blocks, which kernels only read
 * (parts/stored_vectors.wgsl).
 */
const groups = {
  f32: { elements: 1, bytes: 4 },
  u32: { elements: 1, bytes: 4 },
  i32: { elements: 1, bytes: 4 },
  f16: { elements: 1, bytes: 2 },
  bf16: { elements: 1, bytes: 2 },
  q4: { elements: 64, bytes: 40 },
  q4k: { elements: 64, bytes: 40 },
  q8: { elements: 32, bytes: 40 },
} as const;
export type DataType = keyof typeof groups;

/** Types that keys and values may have in the cache. */
export const cacheDtypes = ["f32", "f16", "bf16"] as const;
export type CacheDtype = typeof cacheDtypes[number];

/** Types of quantised blocks. */
export const quantisedTypes = ["q4", "q4k", "q8"] as const;
export type QuantisedType = typeof quantisedTypes[number];

/** Types that a matrix of weights may have. */
export const matrixTypes = ["f32", "f16", "bf16", ...quantisedTypes] as const;
export type MatrixType = typeof matrixTypes[number];

/** Whether elements of this type lie in quantised blocks. */
export function isQuantised(dtype: DataType): dtype is QuantisedType {
  return groups[dtype].elements > 1;
}

/** Bytes of one element, a fraction where several share a block. */
export function bytesOf(dtype: DataType): number {
  return groups[dtype].bytes / groups[dtype].elements;
}

/** Bytes of so many elements, whole blocks. */
export function bytesOfElements(dtype: DataType, size: number): number {
  const { elements, bytes } = groups[dtype];
  return Math.ceil(Math.ceil(size / elements) * bytes / 4) * 4;
}

/** Host data of a tensor: f16 and bf16 come as the raw 16-bit patterns, quantised blocks as the words of them. */
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
  /** Bytes of the data, rounded up to whole 32-bit words and blocks. */
  readonly bytes: number;

  constructor(
    readonly storage: PooledBuffer,
    readonly shape: readonly number[],
    readonly dtype: DataType,
    readonly byteOffset: number,
    readonly label: string,
  ) {
    this.size = shape.reduce((product, n) => product * n, 1);
    this.bytes = bytesOfElements(dtype, this.size);
  }

  /**
   * A window on the same memory. `offset` counts elements; to be bound to a kernel it must fall on
   * a multiple of 256 bytes, the strictest alignment WebGPU may ask for.
   *
   * @throws Error when it leaves the tensor or begins within a quantised block
   */
  view(offset: number, shape: readonly number[], label = this.label): Tensor {
    if (offset % groups[this.dtype].elements !== 0) {
      throw new Error(`view of ${this.label}: ${offset} lies within a block of ${this.dtype}`);
    }
    const byteOffset = this.byteOffset + offset * bytesOf(this.dtype);
    const window = new Tensor(this.storage, shape, this.dtype, byteOffset, label);
    if (offset < 0 || window.byteOffset + window.bytes > this.byteOffset + this.bytes) {
      throw new Error(`view of ${this.label}: [${shape}] at ${offset} leaves [${this.shape}]`);
    }
    return window;
  }

  /**
   * The beginning of the same memory as elements of another type.
   *
   * @throws Error when there are more than fit into it
   */
  as(dtype: DataType, shape: readonly number[], label = this.label): Tensor {
    const result = new Tensor(this.storage, shape, dtype, this.byteOffset, label);
    if (result.bytes > this.bytes) {
      throw new Error(
        `${dtype} [${shape}] do not fit into ${this.label}, ${this.dtype} [${this.shape}]`,
      );
    }
    return result;
  }

  /** A tensor of another shape on the same elements. */
  reshape(...shape: number[]): Tensor {
    const result = new Tensor(this.storage, shape, this.dtype, this.byteOffset, this.label);
    if (result.size !== this.size) {
      throw new Error(`reshape of ${this.label}: [${this.shape}] has not the size of [${shape}]`);
    }
    return result;
  }

  /** Elements of the array that it is written from and read as. */
  get hostLength(): number {
    return isQuantised(this.dtype) ? this.bytes / 4 : this.size;
  }

  /** Bytes read from this tensor as an array of its elements, or of the words of its blocks. */
  arrayOf(bytes: ArrayBuffer): HostArray {
    switch (this.dtype) {
      case "f32":
        return new Float32Array(bytes);
      case "u32":
      case "q4":
      case "q4k":
      case "q8":
        return new Uint32Array(bytes);
      case "i32":
        return new Int32Array(bytes);
      default:
        return new Uint16Array(bytes, 0, this.size);
    }
  }
}
