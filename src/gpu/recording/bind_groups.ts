import type { Kernel } from "../kernel.ts";
import type { Tensor } from "../tensor.ts";

/**
 * Bind groups kept at most. A software driver maps memory of its own for each one, and a process that asks
 * for more than some 65,000 mappings is killed.
 */
const capacity = 4096;

/** Dropped bind groups, at most, whose mapping waits for the garbage collector. */
const mostDropped = 8192;

/** A bind group and what it was made for. */
interface Kept {
  readonly hash: number;
  readonly kernel: number;
  /** Buffer and first byte of each binding, one after the other. */
  readonly places: readonly number[];
  readonly group: GPUBindGroup;
}

/**
 * Keeps the bind groups of recent launches: making one costs more than the launch itself. Finding one allocates
 * nothing.
 */
export class BindGroups {
  /** By hash, in the order of last use, the longest unused first. */
  readonly #kept = new Map<number, Kept[]>();
  readonly #ofBuffer = new Map<number, Set<Kept>>();
  /** The places of the launch that is looked for. */
  readonly #places: number[] = [];
  #size = 0;
  #dropped = 0;

  /**
   * @param create makes a bind group; its caller watches for errors under the label
   * @param collect is called when many were dropped
   */
  constructor(
    private readonly arena: GPUBuffer,
    private readonly create: (label: string, descriptor: GPUBindGroupDescriptor) => GPUBindGroup,
    private readonly collect: () => void,
  ) {}

  /** How many there are. */
  get size(): number {
    return this.#size;
  }

  /**
   * The bind group of a launch. A tensor is bound to the end of its buffer, so that batches of a few tokens
   * more or less share bind groups.
   *
   * @throws Error when a tensor is missing, unknown, or bound both to be read and to be written
   */
  get(kernel: Kernel, label: string, tensors: Readonly<Record<string, Tensor>>): GPUBindGroup {
    const places = this.#places;
    let count = 0;
    let hash = kernel.id;
    for (const { name, kind } of kernel.bindings) {
      if (kind === "uniform") continue;
      const tensor = tensors[name];
      if (!tensor) throw new Error(`${label}: tensor ${name} is missing`);
      const { storage: { id }, byteOffset } = tensor;
      places[count++] = id;
      places[count++] = byteOffset;
      hash = Math.imul(Math.imul(hash, 0x01000193) ^ id, 0x85ebca6b) ^ byteOffset;
    }
    places.length = count;
    const bucket = this.#kept.get(hash);
    const found = bucket && findIn(bucket, kernel.id, places);
    if (bucket && found) {
      this.#kept.delete(hash);
      this.#kept.set(hash, bucket);
      return found.group;
    }
    expectBindings(kernel, label, tensors);
    const entries = kernel.bindings.map(({ binding, name, kind }) => {
      if (kind === "uniform") {
        return { binding, resource: { buffer: this.arena, size: kernel.parameterBytes } };
      }
      const { storage, byteOffset } = tensors[name];
      const size = storage.bytes - byteOffset;
      return { binding, resource: { buffer: storage.buffer, offset: byteOffset, size } };
    });
    const group = this.create(label, { label, layout: kernel.layout, entries });
    this.#keep({ hash, kernel: kernel.id, places: places.slice(), group });
    return group;
  }

  /** Drops the bind groups of a buffer that is about to be destroyed. */
  forgetBuffer(id: number): void {
    for (const kept of [...this.#ofBuffer.get(id) ?? []]) this.#forget(kept);
  }

  #keep(kept: Kept): void {
    const bucket = this.#kept.get(kept.hash) ?? [];
    this.#kept.delete(kept.hash);
    this.#kept.set(kept.hash, [...bucket, kept]);
    for (const id of buffersOf(kept)) {
      const others = this.#ofBuffer.get(id);
      if (others) others.add(kept);
      else this.#ofBuffer.set(id, new Set([kept]));
    }
    if (++this.#size > capacity) {
      const [[longestUnused]] = this.#kept.values();
      this.#forget(longestUnused);
    }
  }

  #forget(kept: Kept): void {
    const left = this.#kept.get(kept.hash)?.filter((other) => other !== kept) ?? [];
    if (left.length > 0) this.#kept.set(kept.hash, left);
    else this.#kept.delete(kept.hash);
    for (const id of buffersOf(kept)) {
      const others = this.#ofBuffer.get(id);
      others?.delete(kept);
      if (others?.size === 0) this.#ofBuffer.delete(id);
    }
    this.#size--;
    if (++this.#dropped < mostDropped) return;
    this.#dropped = 0;
    this.collect();
  }
}

const buffersOf = ({ places }: Kept) => new Set(places.filter((_, index) => index % 2 === 0));

function findIn(
  bucket: readonly Kept[],
  kernel: number,
  places: readonly number[],
): Kept | undefined {
  for (const kept of bucket) {
    if (kept.kernel !== kernel) continue;
    let index = 0;
    while (index < places.length && kept.places[index] === places[index]) index++;
    if (index === places.length) return kept;
  }
}

function expectBindings(
  kernel: Kernel,
  label: string,
  tensors: Readonly<Record<string, Tensor>>,
): void {
  const storages = kernel.bindings.filter(({ kind }) => kind !== "uniform");
  const unknown = Object.keys(tensors).find((name) =>
    !storages.some((binding) => binding.name === name)
  );
  if (unknown) throw new Error(`${label} has no binding ${unknown}`);
  for (const { name, kind } of storages) {
    const other = storages.find((binding) =>
      binding.kind !== kind && tensors[binding.name].storage === tensors[name].storage
    );
    if (other) throw new Error(`${label}: ${name} and ${other.name} are the same memory`);
  }
}
