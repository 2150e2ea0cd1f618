import type { Kernel } from "./kernel.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Bind groups kept at most. A software driver maps memory of its own for each one, and a process that asks
 * for more than some 65,000 mappings is killed.
 */
const capacity = 4096;

/** Those dropped hold their mapping until the garbage collector has run; so many may wait for it. */
const mostDropped = 8192;

/** Keeps the bind groups of recent launches: making one costs more than the launch itself. */
export class BindGroups {
  /** In the order of last use, the longest unused first. */
  readonly #groups = new Map<string, GPUBindGroup>();
  readonly #keysOfBuffer = new Map<number, Set<string>>();
  readonly #buffersOfKey = new Map<string, number[]>();
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
    return this.#groups.size;
  }

  /**
   * The bind group of a launch. A tensor is bound to the end of its buffer, so that batches of a few tokens
   * more or less share bind groups.
   *
   * @throws Error when a tensor is missing, unknown, or bound both to be read and to be written
   */
  get(kernel: Kernel, label: string, tensors: Readonly<Record<string, Tensor>>): GPUBindGroup {
    let key = `${kernel.id}`;
    for (const { name, kind } of kernel.bindings) {
      if (kind === "uniform") continue;
      const tensor = tensors[name];
      if (!tensor) throw new Error(`${label}: tensor ${name} is missing`);
      key += `,${tensor.storage.id}:${tensor.byteOffset}`;
    }
    const cached = this.#groups.get(key);
    if (cached) {
      this.#groups.delete(key);
      this.#groups.set(key, cached);
      return cached;
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
    this.#remember(key, group, Object.values(tensors).map(({ storage }) => storage.id));
    return group;
  }

  /** Drops the bind groups of a buffer that is about to be destroyed. */
  forgetBuffer(id: number): void {
    for (const key of [...this.#keysOfBuffer.get(id) ?? []]) this.#forget(key);
  }

  #remember(key: string, group: GPUBindGroup, buffers: number[]): void {
    this.#groups.set(key, group);
    this.#buffersOfKey.set(key, buffers);
    for (const id of buffers) {
      const keys = this.#keysOfBuffer.get(id);
      if (keys) keys.add(key);
      else this.#keysOfBuffer.set(id, new Set([key]));
    }
    if (this.#groups.size > capacity) {
      const [longestUnused] = this.#groups.keys();
      this.#forget(longestUnused);
    }
  }

  #forget(key: string): void {
    this.#groups.delete(key);
    for (const id of this.#buffersOfKey.get(key) ?? []) {
      const keys = this.#keysOfBuffer.get(id);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysOfBuffer.delete(id);
    }
    this.#buffersOfKey.delete(key);
    if (++this.#dropped < mostDropped) return;
    this.#dropped = 0;
    this.collect();
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
