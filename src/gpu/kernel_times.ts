import { dawnPolling } from "../platform/gpus/dawn_polling.ts";

/** How long one launch took on the GPU. */
export interface KernelTime {
  /** The kernel's label. */
  readonly label: string;
  /** Nanoseconds of the GPU's own clock. */
  readonly begin: number;
  readonly end: number;
}

/** A submit whose times are not read yet. */
interface Unread {
  readonly labels: readonly string[];
  readonly staging: GPUBuffer;
}

/** Bytes of the two timestamps of a launch. */
const bytesPerLaunch = 2 * 8;

/**
 * Measures launches with timestamp queries. Each launch then needs a pass of its own, which costs some
 * microseconds, and what overlapped before does so no more: measure what is to be looked at, not whole runs.
 */
export class KernelTimes {
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  /** Launches of the submit that is being recorded. */
  #labels: string[] = [];
  #unread: Unread[] = [];

  /**
   * @param launches of one submit, at most
   * @param immediate whether a buffer is mapped when the call returns, see `Readback`
   */
  constructor(
    private readonly device: GPUDevice,
    launches: number,
    private readonly immediate: boolean,
  ) {
    this.#queries = device.createQuerySet({ type: "timestamp", count: 2 * launches });
    this.#resolved = device.createBuffer({
      label: "kernel times",
      size: launches * bytesPerLaunch,
      usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
    });
  }

  /** Timestamps that the pass of the next launch writes. */
  next(label: string): GPUComputePassTimestampWrites {
    const place = 2 * (this.#labels.push(label) - 1);
    return {
      querySet: this.#queries,
      beginningOfPassWriteIndex: place,
      endOfPassWriteIndex: place + 1,
    };
  }

  /** Records what brings the times of a submit to the host; the last thing in it. */
  resolve(encoder: GPUCommandEncoder): void {
    const labels = this.#labels;
    if (labels.length === 0) return;
    this.#labels = [];
    const size = labels.length * bytesPerLaunch;
    // The native engine maps only what has been mapped once before.
    const staging = this.device.createBuffer({
      label: "kernel times",
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
      mappedAtCreation: true,
    });
    staging.unmap();
    encoder.resolveQuerySet(this.#queries, 0, 2 * labels.length, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, staging, 0, size);
    this.#unread.push({ labels, staging });
  }

  /** Reads the times of all that was sent; call it when that has run, so that nothing is waited for. */
  async read(): Promise<KernelTime[]> {
    const unread = this.#unread;
    this.#unread = [];
    const times: KernelTime[] = [];
    for (const { labels, staging } of unread) {
      dawnPolling.waitBegins();
      const mapping = staging.mapAsync(GPUMapMode.READ);
      if (this.immediate) mapping.catch(() => {});
      else await mapping;
      const words = new BigUint64Array(staging.getMappedRange().slice(0));
      staging.destroy();
      labels.forEach((label, i) =>
        times.push({ label, begin: Number(words[2 * i]), end: Number(words[2 * i + 1]) })
      );
    }
    return times;
  }

  /** Returns the GPU memory. */
  destroy(): void {
    for (const { staging } of this.#unread) staging.destroy();
    this.#resolved.destroy();
    this.#queries.destroy();
  }
}
