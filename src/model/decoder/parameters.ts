import type { Gpu } from "../../gpu/gpu.ts";
import {
  bytesOf,
  isQuantised,
  type MatrixType,
  matrixTypes,
  type Tensor,
} from "../../gpu/tensor.ts";
import { pieceBytes, readPieces } from "../../gpu/tensor_pieces.ts";
import { gatherRows } from "../../kernels/layers/gather_rows.ts";
import { fromStorage, toStorage } from "./half_precision.ts";
import {
  type Block,
  mostElements,
  type NamedRange,
  placeBlocks,
  type SegmentPlace,
  sizeOf,
  storageOfTensor,
  tileKey,
  type WeightStorage,
} from "./layout.ts";

/** Tensors by Hugging Face name, f32 on the host. */
export type NamedWeights = Readonly<Record<string, Float32Array>>;

/** A tensor whose elements are on the GPU. */
export interface NamedTensor {
  readonly shape: readonly number[];
  /** The elements in order. Nobody may write to the weights before the last piece was read. */
  pieces(): AsyncGenerator<Float32Array>;
}

/** A parameter as the kernels see it. */
export interface Parameter {
  readonly weight: Tensor;
  /** Null when the model is not trained. */
  readonly gradient: Tensor | null;
}

/** Some rows of a table over the vocabulary. */
export interface TableTileParameter extends Parameter {
  /** Token id of the first row. */
  readonly firstRow: number;
}

/** Types that matrices may have whose weights are trained. */
export type TrainedStorage = "f32" | "f16" | "bf16";

/** Options for the memory of a model's parameters. */
export interface ParameterOptions {
  /** Whether gradients are kept too. */
  readonly trained: boolean;
  /** Storage of matrices, f32 by default; where they are trained f32, f16 or bf16. */
  readonly storage?: WeightStorage;
  /** Bytes of the longest flat tensor; by default as many as the device binds. */
  readonly segmentBytes?: number;
  /** Whether they are cut into flat tensors as for training, as its checkpoints are; by default where they are trained. */
  readonly cutForTraining?: boolean;
  /** Flat tensors, each at least as long as one of the weights, whose memory these take; they stay their owner's. */
  readonly within?: readonly Tensor[];
}

/** Place of a tensor, or of a tile of one: a segment of the weights and its first element there. */
interface Place {
  readonly tensor: NamedRange;
  readonly segment: Tensor;
  readonly start: number;
}

/**
 * A model's parameters as a few flat GPU tensors. Blocks are views on them, so the optimizer, the
 * gradient norm and a checkpoint see a few long arrays, the layers see matrices.
 */
export class Parameters {
  readonly weights: readonly Tensor[];
  /** Segment by segment as the weights; null when they are not trained. */
  readonly gradients: readonly Tensor[] | null;
  readonly #placements: ReadonlyMap<string, SegmentPlace>;
  /** Bytes of the longest flat tensor. */
  readonly #segmentBytes: number;
  #version = 0;

  /** @param makeBlocks what is kept, given how many elements of a tensor the device binds at once */
  constructor(
    private readonly gpu: Gpu,
    private readonly makeBlocks: (most: (tensor: string) => number) => readonly Block[],
    private readonly options: ParameterOptions,
  ) {
    const { trained, storage = "f32", segmentBytes, within, cutForTraining = trained } = options;
    const bound = segmentBytes ?? gpu.device.limits.maxStorageBufferBindingSize;
    // The gradients of a segment are bound as it is, and have 4 bytes for each element.
    const limit = this.#segmentBytes = cutForTraining && storage !== "f32" ? bound / 2 : bound;
    const blocks = makeBlocks((tensor) => mostElements(limit, storageOfTensor(storage, tensor)));
    const { placements, segments } = placeBlocks(blocks, limit, storage);
    const other = segments.find(({ dtype }) => isQuantised(dtype));
    if (trained && other) throw new Error(`weights in ${other.dtype} cannot be trained`);
    this.#placements = new Map(placements.map((placement) => [placement.block.key, placement]));
    this.weights = segments.map(({ size, dtype }, i) =>
      within ? within[i].as(dtype, [size], "weights") : gpu.zeros([size], dtype, "weights")
    );
    this.gradients = trained
      ? segments.map(({ size }) => gpu.zeros([size], "f32", "gradients"))
      : null;
  }

  /** Counts the changes of the weights: what was computed with them holds while it stays the same. */
  get version(): number {
    return this.#version;
  }

  /** Counts a change of the weights; called by all that write to them. */
  weightsChanged(): void {
    this.#version++;
  }

  /** A copy of the weights, without gradients; release both. */
  copy(): Parameters {
    const copy = this.#likewise();
    this.weights.forEach((segment, i) => this.gpu.copy(segment, copy.weights[i]));
    return copy;
  }

  /**
   * Weights of the same types in the memory of the gradients, without gradients of their own.
   *
   * @throws Error when these are not trained
   */
  withinGradients(): Parameters {
    const { gradients } = this;
    if (!gradients) throw new Error("weights that are not trained have no gradients");
    return this.#likewise(gradients);
  }

  /** Parameters cut into tensors like these. */
  #likewise(within?: readonly Tensor[]): Parameters {
    return new Parameters(this.gpu, this.makeBlocks, {
      ...{ ...this.options, trained: false, cutForTraining: false, within },
      segmentBytes: this.#segmentBytes,
    });
  }

  /** @throws Error when the model has no such block */
  get(key: string): Parameter {
    const placement = this.#placements.get(key);
    if (!placement) throw new Error(`no parameter block ${key}`);
    const { block: { shape }, segment, offset } = placement;
    return {
      weight: this.weights[segment].view(offset, shape, key),
      gradient: this.gradients?.[segment].view(offset, shape, `${key} gradient`) ?? null,
    };
  }

  /** The tiles of a table over the vocabulary, in order. */
  tiles(key: string): TableTileParameter[] {
    const tiles: TableTileParameter[] = [];
    for (let index = 0, firstRow = 0; this.has(tileKey(key, index)); index++) {
      const parameter = this.get(tileKey(key, index));
      tiles.push({ ...parameter, firstRow });
      firstRow += parameter.weight.shape[0];
    }
    return tiles;
  }

  has(key: string): boolean {
    return this.#placements.has(key);
  }

  /** Weights that no update changes, block by block. */
  get fixed(): Tensor[] {
    return [...this.#placements.values()].filter(({ block }) => block.isFixed)
      .map(({ block: { key } }) => this.get(key).weight);
  }

  /** Number of parameters. */
  get count(): number {
    let count = 0;
    for (const { block } of this.#placements.values()) {
      for (const { size } of block.tensors) count += size;
    }
    return count;
  }

  /** The types of the matrices, each once. */
  get matrixTypes(): MatrixType[] {
    const types = new Set(this.#matrices().map(({ segment }) => this.weights[segment].dtype));
    return matrixTypes.filter((type) => types.has(type));
  }

  /** Bytes of an element of the matrices, a mean where they are stored in several types. */
  get bytesOfMatrixElement(): number {
    let elements = 0, bytes = 0;
    for (const { block, segment } of this.#matrices()) {
      elements += sizeOf(block.shape);
      bytes += sizeOf(block.shape) * bytesOf(this.weights[segment].dtype);
    }
    return bytes / elements;
  }

  #matrices(): SegmentPlace[] {
    return [...this.#placements.values()].filter(({ block }) => block.shape.length > 1);
  }

  /** Hugging Face names and shapes of all tensors. */
  shapes(): Map<string, readonly number[]> {
    const shapes = new Map<string, readonly number[]>();
    for (const { block } of this.#placements.values()) {
      for (const { name, shape } of block.tensors) shapes.set(name, shape);
    }
    return shapes;
  }

  /** Place of each block: its segment, and its elements there. */
  *blocks(): Generator<{ key: string; segment: number; first: number; end: number }> {
    for (const { block: { key, shape }, segment, offset } of this.#placements.values()) {
      yield { key, segment, first: offset, end: offset + sizeOf(shape) };
    }
  }

  /** Place of each tensor, or tile of one. */
  *places(): Generator<Place> {
    for (const { block, segment, offset } of this.#placements.values()) {
      for (const tensor of block.tensors) {
        yield { tensor, segment: this.weights[segment], start: offset + tensor.offset };
      }
    }
  }

  /** Cuts flat segments (weights or gradients) into named tensors. */
  name(segments: readonly Float32Array[]): Record<string, Float32Array> {
    const named: Record<string, Float32Array> = {};
    for (const { block, segment, offset } of this.#placements.values()) {
      for (const { name, shape, first, size, offset: within } of block.tensors) {
        const start = offset + within;
        named[name] ??= new Float32Array(sizeOf(shape));
        named[name].set(segments[segment].subarray(start, start + size), first);
      }
    }
    return named;
  }

  /** The weights by name, read from the GPU in pieces, as f32 whatever they are stored as. */
  tensors(): Map<string, NamedTensor> {
    const tensors = new Map<string, NamedTensor>();
    for (const [name, places] of Map.groupBy(this.places(), ({ tensor }) => tensor.name)) {
      const { gpu } = this;
      tensors.set(name, {
        shape: places[0].tensor.shape,
        async *pieces() {
          for (const place of places) yield* floatPieces(gpu, place);
        },
      });
    }
    return tensors;
  }

  /**
   * A block as one tensor, of tensors of one width that lie one after the other.
   *
   * @throws Error when there is no such block
   */
  block(key: string): NamedTensor {
    const { gpu } = this;
    const { weight: segment } = this.get(key);
    const { shape, size } = segment;
    const tensor = { name: key, shape, first: 0, size, offset: 0 };
    return { shape, pieces: () => floatPieces(gpu, { tensor, segment, start: 0 }) };
  }

  /** All weights by name in host memory. */
  async read(): Promise<Record<string, Float32Array>> {
    const named: Record<string, Float32Array> = {};
    for (const [name, { shape, pieces }] of this.tensors()) {
      const whole = named[name] = new Float32Array(sizeOf(shape));
      let first = 0;
      for await (const piece of pieces()) {
        whole.set(piece, first);
        first += piece.length;
      }
    }
    return named;
  }

  /**
   * Writes weights that are in host memory, by name; the others stay as they are.
   *
   * @throws Error when there is no such tensor, or it has another size or lies in quantised blocks
   */
  set(weights: NamedWeights): void {
    const unknown = new Set(Object.keys(weights));
    for (const { tensor: { name, shape, first, size }, segment, start } of this.places()) {
      const data = weights[name];
      if (!data) continue;
      if (data.length !== sizeOf(shape)) {
        throw new Error(`tensor ${name} [${shape}] cannot be set to ${data.length} elements`);
      }
      const stored = toStorage(data.subarray(first, first + size), segment.dtype);
      this.gpu.write(segment.view(start, [size]), stored);
      unknown.delete(name);
    }
    if (unknown.size > 0) throw new Error(`there is no tensor ${[...unknown][0]}`);
    this.weightsChanged();
  }

  /** Returns the GPU memory. */
  release(): void {
    const own = this.options.within ? [] : this.weights;
    this.gpu.release(...own, ...this.gradients ?? []);
  }
}

/** Reads a place's elements in order, as f32 whatever they are stored as. */
async function* floatPieces(
  gpu: Gpu,
  { tensor, segment, start }: Place,
): AsyncGenerator<Float32Array> {
  if (isQuantised(segment.dtype)) return yield* quantisedPieces(gpu, { tensor, segment, start });
  for await (const piece of readPieces(gpu, segment.view(start, [tensor.size]))) {
    yield fromStorage(piece, segment.dtype);
  }
}

/** Quantised blocks become f32 on the GPU before they are read, by rows of a group's elements. */
async function* quantisedPieces(
  gpu: Gpu,
  { tensor: { size }, segment, start }: Place,
): AsyncGenerator<Float32Array> {
  const width = 32;
  const source = segment.reshape(segment.size / width, width);
  const most = pieceBytes / 4;
  for (let first = 0; first < size; first += most) {
    const count = Math.min(most, size - first) / width;
    const row = (start + first) / width;
    const rows = gpu.from(Uint32Array.from({ length: count }, (_, i) => row + i), [count]);
    const target = gpu.tensor([count, width], "f32", "read weights");
    gatherRows(gpu, source, rows, target);
    try {
      yield await gpu.readFloats(target);
    } finally {
      gpu.release(rows, target);
    }
  }
}
