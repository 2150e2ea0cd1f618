import type { EngineName } from "./adapter.ts";

/**
 * Copies GPU memory to the host.
 *
 * The native engine's awaited `mapAsync` sleeps 10 ms after the GPU is idle, but its data is already
 * mapped when the call returns, so reading without awaiting takes 0.1 ms. That leans on how Deno
 * implements the call: it is tested when the device opens, and the awaited way is taken if it fails.
 */
export class Readback {
  #staging = new Map<number, GPUBuffer[]>();
  #immediate = false;

  private constructor(private readonly device: GPUDevice) {}

  /** Opens a readback, finding out by trial which way of waiting works. */
  static async open(device: GPUDevice, engine: EngineName): Promise<Readback> {
    const readback = new Readback(device);
    if (engine === "native") readback.#immediate = await readback.#immediateWorks();
    return readback;
  }

  /** True when host reads need no awaiting (native engine only). */
  get immediate(): boolean {
    return this.#immediate;
  }

  async #immediateWorks(): Promise<boolean> {
    const source = this.device.createBuffer({
      size: 1024,
      usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
    try {
      for (let round = 1; round <= 4; round++) {
        this.device.queue.writeBuffer(source, 0, new Uint32Array(256).fill(round * 0x01010101));
        const staging = this.#take(1024);
        const encoder = this.device.createCommandEncoder();
        encoder.copyBufferToBuffer(source, 0, staging, 0, 1024);
        this.device.queue.submit([encoder.finish()]);
        const words = new Uint32Array(this.#mapNow(staging, 1024));
        if (!words.every((word) => word === round * 0x01010101)) return false;
      }
      return true;
    } catch {
      await this.device.queue.onSubmittedWorkDone();
      this.#staging.clear();
      return false;
    } finally {
      source.destroy();
    }
  }

  /** A staging buffer must have been mapped once before: Deno aborts otherwise. */
  #take(bytes: number): GPUBuffer {
    const size = 2 ** Math.ceil(Math.log2(Math.max(1024, bytes)));
    const idle = this.#staging.get(size)?.pop();
    if (idle) return idle;
    const buffer = this.device.createBuffer({
      label: "readback",
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
      mappedAtCreation: true,
    });
    buffer.unmap();
    return buffer;
  }

  #give(buffer: GPUBuffer): void {
    const list = this.#staging.get(buffer.size);
    if (list) list.push(buffer);
    else this.#staging.set(buffer.size, [buffer]);
  }

  #mapNow(staging: GPUBuffer, bytes: number): ArrayBuffer {
    staging.mapAsync(GPUMapMode.READ, 0, staging.size).catch(() => {});
    const copy = staging.getMappedRange(0, bytes).slice(0);
    staging.unmap();
    this.#give(staging);
    return copy;
  }

  /** Records the copies into `encoder`; the returned function waits and gives the bytes. */
  record(
    encoder: GPUCommandEncoder,
    ranges: readonly { buffer: GPUBuffer; offset: number; bytes: number }[],
  ): () => Promise<ArrayBuffer[]> {
    const total = ranges.reduce((sum, range) => sum + range.bytes, 0);
    const staging = this.#take(total);
    let at = 0;
    for (const { buffer, offset, bytes } of ranges) {
      encoder.copyBufferToBuffer(buffer, offset, staging, at, bytes);
      at += bytes;
    }
    return async () => {
      let whole: ArrayBuffer;
      if (this.#immediate) {
        whole = this.#mapNow(staging, total);
      } else {
        await staging.mapAsync(GPUMapMode.READ, 0, staging.size);
        whole = staging.getMappedRange(0, total).slice(0);
        staging.unmap();
        this.#give(staging);
      }
      let start = 0;
      return ranges.map(({ bytes }) => whole.slice(start, start += bytes));
    };
  }
}
