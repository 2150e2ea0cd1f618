import type { PooledBuffer } from "./tensor.ts";
import { UserError } from "../base/user_error.ts";

/** A buffer would be larger than the device binds. */
export class BufferTooLarge extends UserError {}

/** Storage buffers come in sizes of at most 25 % waste, so that released ones fit again. */
function sizeClass(bytes: number): number {
  const minimum = Math.max(256, bytes);
  const step = Math.max(256, 2 ** (Math.floor(Math.log2(minimum)) - 2));
  return Math.ceil(minimum / step) * step;
}

/**
 * Storage buffers with explicit lifetimes. The garbage collector does not see GPU memory, so nothing
 * is left to it: a released buffer is handed out again, and `trim` destroys those that lie idle.
 *
 * All work goes through one queue, so a buffer released while its last reader is only recorded may
 * be reused at once: the new writer runs after that reader.
 */
export class BufferPool {
  #free = new Map<number, PooledBuffer[]>();
  #live = new Set<number>();
  #nextId = 1;
  /** Bytes of the buffers handed out. */
  liveBytes = 0;
  /** Bytes of all buffers that exist, the idle ones included. */
  reservedBytes = 0;
  /** The most `liveBytes` has been. */
  peakBytes = 0;
  /** Idle buffers are destroyed rather than that `reservedBytes` exceeds this. */
  budgetBytes = Infinity;
  /** How often idle buffers were destroyed. */
  trims = 0;

  constructor(
    readonly device: GPUDevice,
    private readonly on: {
      readonly beforeTrim: () => void;
      readonly onDestroy: (buffer: PooledBuffer) => void;
    },
  ) {}

  /** @throws BufferTooLarge when one buffer would exceed what the device can bind */
  acquire(bytes: number, label: string): PooledBuffer {
    const size = sizeClass(bytes);
    const limit = Math.min(
      this.device.limits.maxStorageBufferBindingSize,
      this.device.limits.maxBufferSize,
    );
    if (bytes > limit) {
      throw new BufferTooLarge(
        `${label} needs ${bytes} bytes in one GPU buffer, but this device binds at most ${limit}. ` +
          `Use shorter passes, fewer sequences at once or a smaller model.`,
      );
    }
    const idle = this.#free.get(size)?.pop();
    if (!idle && this.reservedBytes + size > this.budgetBytes) this.trim();
    const buffer = idle ?? this.#create(Math.min(size, Math.floor(limit / 4) * 4), label);
    this.#live.add(buffer.id);
    this.liveBytes += buffer.bytes;
    this.peakBytes = Math.max(this.peakBytes, this.liveBytes);
    return buffer;
  }

  #create(bytes: number, label: string): PooledBuffer {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    this.reservedBytes += bytes;
    return {
      id: this.#nextId++,
      bytes,
      buffer: this.device.createBuffer({ label, size: bytes, usage }),
    };
  }

  /** @throws Error when the buffer was released before: two owners would then write to it */
  release(buffer: PooledBuffer): void {
    if (!this.#live.delete(buffer.id)) {
      throw new Error(`GPU memory of ${buffer.buffer.label} was released twice`);
    }
    this.liveBytes -= buffer.bytes;
    const size = sizeClass(buffer.bytes);
    const list = this.#free.get(size);
    if (list) list.push(buffer);
    else this.#free.set(size, [buffer]);
  }

  /** Destroys all idle buffers; the device keeps each until the work that uses it is done. */
  trim(): void {
    this.on.beforeTrim();
    this.trims++;
    for (const list of this.#free.values()) {
      for (const buffer of list) {
        this.reservedBytes -= buffer.bytes;
        this.on.onDestroy(buffer);
        buffer.buffer.destroy();
      }
    }
    this.#free.clear();
  }
}
