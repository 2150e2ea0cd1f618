import type { EngineName } from "./adapter.ts";
import { dawnPolling } from "../platform/gpus/dawn_polling.ts";

/** Bytes of the longest staging buffer: longer reads go through it in pieces, one after the other. */
export const stagingBytes = 4 * 2 ** 20;
/** Bytes of staging buffers that are kept for the next read. */
const keptBytes = 2 * stagingBytes;
/** Milliseconds of reads without awaiting after which signals, requests and timers get their turn. */
const TURN_MS = 50;

/** Some bytes of GPU memory. */
export interface BufferRange {
  readonly buffer: GPUBuffer;
  /** First byte, a multiple of 4. */
  readonly offset: number;
  /** A multiple of 4. */
  readonly bytes: number;
}

/** A part of a range that goes through a staging buffer. */
interface Piece {
  /** Which of the ranges. */
  readonly range: number;
  /** First byte of the piece, counted in the range. */
  readonly first: number;
  readonly bytes: number;
}

/**
 * Copies GPU memory to the host, through staging buffers of bounded size whatever is read.
 *
 * The native engine's awaited `mapAsync` sleeps 10 ms after the GPU is idle, but its data is already
 * mapped when the call returns, so reading without awaiting takes 0.1 ms. That leans on how Deno
 * implements the call: it is tested when the device opens, and the awaited way is taken if it fails.
 */
export class Readback {
  /** By size. */
  #idle = new Map<number, GPUBuffer[]>();
  #idleBytes = 0;
  #immediate = false;
  /** When the event loop last had its turn, in milliseconds. */
  #turned = performance.now();

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

  /** Bytes of the staging buffers that wait for the next read. */
  get idleBytes(): number {
    return this.#idleBytes;
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
        const words = new Uint32Array(mapNow(staging).getMappedRange(0, 1024).slice(0));
        this.#give(staging);
        if (!words.every((word) => word === round * 0x01010101)) return false;
      }
      return true;
    } catch {
      await this.device.queue.onSubmittedWorkDone();
      this.#idle.clear();
      this.#idleBytes = 0;
      return false;
    } finally {
      source.destroy();
    }
  }

  /** A staging buffer must have been mapped once before: Deno aborts otherwise. */
  #take(bytes: number): GPUBuffer {
    const size = 2 ** Math.ceil(Math.log2(Math.max(1024, bytes)));
    const idle = this.#idle.get(size)?.pop();
    if (idle) {
      this.#idleBytes -= size;
      return idle;
    }
    const buffer = this.device.createBuffer({
      label: "readback",
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
      mappedAtCreation: true,
    });
    buffer.unmap();
    return buffer;
  }

  /** Takes a mapped buffer back. */
  #give(buffer: GPUBuffer): void {
    buffer.unmap();
    if (this.#idleBytes + buffer.size > keptBytes) {
      buffer.destroy();
      return;
    }
    const list = this.#idle.get(buffer.size);
    if (list) list.push(buffer);
    else this.#idle.set(buffer.size, [buffer]);
    this.#idleBytes += buffer.size;
  }

  /**
   * Records the copies into `encoder`; the returned function waits and gives the bytes. What is more than
   * one staging buffer holds is copied while that function waits: it reads what is there by then.
   */
  record(encoder: GPUCommandEncoder, ranges: readonly BufferRange[]): () => Promise<ArrayBuffer[]> {
    const [first, ...later] = rounds(ranges);
    const staging = this.#copy(encoder, ranges, first);
    return async () => {
      const results: ArrayBuffer[] = [];
      await this.#collect(staging, ranges, first, results);
      for (const round of later) {
        const encoder = this.device.createCommandEncoder();
        const staging = this.#copy(encoder, ranges, round);
        this.device.queue.submit([encoder.finish()]);
        await this.#collect(staging, ranges, round, results);
      }
      return results;
    };
  }

  #copy(
    encoder: GPUCommandEncoder,
    ranges: readonly BufferRange[],
    pieces: readonly Piece[],
  ): GPUBuffer {
    const staging = this.#take(pieces.reduce((sum, { bytes }) => sum + bytes, 0));
    let at = 0;
    for (const { range, first, bytes } of pieces) {
      const { buffer, offset } = ranges[range];
      encoder.copyBufferToBuffer(buffer, offset + first, staging, at, bytes);
      at += bytes;
    }
    return staging;
  }

  async #collect(
    staging: GPUBuffer,
    ranges: readonly BufferRange[],
    pieces: readonly Piece[],
    results: ArrayBuffer[],
  ): Promise<void> {
    if (this.#immediate) {
      if (performance.now() - this.#turned > TURN_MS) {
        await new Promise((resolve) => setTimeout(resolve, 0));
        this.#turned = performance.now();
      }
      mapNow(staging);
    } else {
      dawnPolling.waitBegins();
      await staging.mapAsync(GPUMapMode.READ, 0, staging.size);
    }
    const mapped = staging.getMappedRange(0, pieces.reduce((sum, { bytes }) => sum + bytes, 0));
    let at = 0;
    for (const { range, first, bytes } of pieces) {
      const whole = ranges[range].bytes;
      if (bytes === whole) results[range] = mapped.slice(at, at + bytes);
      else {
        const result = results[range] ??= new ArrayBuffer(whole);
        new Uint8Array(result, first, bytes).set(new Uint8Array(mapped, at, bytes));
      }
      at += bytes;
    }
    this.#give(staging);
  }
}

/** Maps without awaiting; see `Readback`. */
function mapNow(staging: GPUBuffer): GPUBuffer {
  staging.mapAsync(GPUMapMode.READ, 0, staging.size).catch(() => {});
  return staging;
}

/** Cuts ranges into rounds that fit one staging buffer each; the first exists even for nothing. */
function rounds(ranges: readonly BufferRange[]): [Piece[], ...Piece[][]] {
  const cut: [Piece[], ...Piece[][]] = [[]];
  let round = cut[0];
  let room = stagingBytes;
  ranges.forEach((range, index) => {
    let first = 0;
    do {
      if (room === 0) {
        round = [];
        cut.push(round);
        room = stagingBytes;
      }
      const bytes = Math.min(range.bytes - first, room);
      round.push({ range: index, first, bytes });
      first += bytes;
      room -= bytes;
    } while (first < range.bytes);
  });
  return cut;
}
