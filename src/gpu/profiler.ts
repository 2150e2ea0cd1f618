/** Time spent in one kernel, summed over its dispatches. */
export interface KernelTime {
  readonly label: string;
  readonly dispatches: number;
  readonly milliseconds: number;
}

/**
 * Times every dispatch with GPU timestamps. It gives each dispatch a pass of its own, which costs a
 * few microseconds, so it is on only while something is being profiled.
 */
export class Profiler {
  static readonly capacity = 2048;
  readonly querySet: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #readable: GPUBuffer;
  #labels: string[] = [];
  #totals = new Map<string, { dispatches: number; nanoseconds: number }>();

  constructor(device: GPUDevice) {
    this.querySet = device.createQuerySet({ type: "timestamp", count: 2 * Profiler.capacity });
    const size = 16 * Profiler.capacity;
    this.#resolved = device.createBuffer({
      size,
      usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
    });
    this.#readable = device.createBuffer({
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
  }

  get full(): boolean {
    return this.#labels.length === Profiler.capacity;
  }

  /** The timestamp writes for the next dispatch's pass. */
  next(label: string): GPUComputePassTimestampWrites {
    const at = 2 * this.#labels.length;
    this.#labels.push(label);
    return { querySet: this.querySet, beginningOfPassWriteIndex: at, endOfPassWriteIndex: at + 1 };
  }

  resolve(encoder: GPUCommandEncoder): void {
    const count = 2 * this.#labels.length;
    if (count === 0) return;
    encoder.resolveQuerySet(this.querySet, 0, count, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#readable, 0, 8 * count);
  }

  /** Adds what the last submit measured to the totals. */
  async collect(): Promise<void> {
    if (this.#labels.length === 0) return;
    await this.#readable.mapAsync(GPUMapMode.READ);
    const stamps = new BigUint64Array(this.#readable.getMappedRange().slice(0));
    this.#readable.unmap();
    this.#labels.forEach((label, i) => {
      const total = this.#totals.get(label) ?? { dispatches: 0, nanoseconds: 0 };
      total.dispatches++;
      total.nanoseconds += Number(stamps[2 * i + 1] - stamps[2 * i]);
      this.#totals.set(label, total);
    });
    this.#labels = [];
  }

  /** Times by kernel, the longest first. */
  table(): KernelTime[] {
    return [...this.#totals]
      .map(([label, { dispatches, nanoseconds }]) => ({
        label,
        dispatches,
        milliseconds: nanoseconds / 1e6,
      }))
      .sort((a, b) => b.milliseconds - a.milliseconds);
  }

  destroy(): void {
    this.querySet.destroy();
    this.#resolved.destroy();
    this.#readable.destroy();
  }
}
