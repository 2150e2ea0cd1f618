import type { GpuActivity } from "./activity.ts";
import type { DeviceFaults } from "./device_faults.ts";
import type { Readback } from "./readback.ts";
import type { Recording } from "./recording/recording.ts";
import type { HostArray, Tensor } from "./tensor.ts";

/** Reads tensors once the work before has run, or tells what went wrong in it. */
export class Reads {
  constructor(
    private readonly readback: Pick<Readback, "record">,
    private readonly recording: Recording,
    private readonly activity: GpuActivity,
    private readonly faults: DeviceFaults,
  ) {}

  /** See `Gpu.readAll`. */
  async all(tensors: readonly Tensor[]): Promise<HostArray[]> {
    let buffers: ArrayBuffer[] = [];
    let unread: Error | null = null;
    this.activity.reads?.readBegins();
    try {
      const bytes = this.#bytesOf(tensors);
      const { mark } = this.recording;
      buffers = await bytes;
      const now = performance.now();
      await this.activity.ran(now, this.recording.ran(mark, now));
    } catch (cause) {
      unread = new Error(`The GPU could not be read: ${cause}`, { cause });
      // The event that says that the device was lost comes a turn later than the failed read.
      await new Promise((resolve) => setTimeout(resolve, 0));
    } finally {
      this.activity.reads?.readEnds();
    }
    await this.faults.expectNone(unread);
    return buffers.map((buffer, i) => tensors[i].arrayOf(buffer));
  }

  #bytesOf(tensors: readonly Tensor[]): Promise<ArrayBuffer[]> {
    const ranges = tensors.map(({ storage, byteOffset, bytes }) => ({
      buffer: storage.buffer,
      offset: byteOffset,
      bytes,
    }));
    return this.recording.submitWith((encoder) => this.readback.record(encoder, ranges))();
  }
}
