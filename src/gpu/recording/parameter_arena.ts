import type { Kernel } from "../kernel.ts";
import { parameterAt, type ParameterValue } from "./launch_parameters.ts";

/**
 * Parameter structs of the dispatches recorded since the last upload, one after the other in one uniform
 * buffer. A launch names its own by a dynamic offset, so that launches share bind groups.
 */
export class ParameterArena {
  readonly buffer: GPUBuffer;
  readonly #host: ArrayBuffer;
  readonly #words: Uint32Array;
  readonly #floats: Float32Array;
  /** Bytes between the offsets that the device allows. */
  readonly #step: number;
  #used = 0;

  /** @param capacity structs of at most `#step` bytes that fit between two uploads */
  constructor(private readonly device: GPUDevice, capacity: number) {
    this.#step = Math.max(64, device.limits.minUniformBufferOffsetAlignment);
    const bytes = this.#step * capacity;
    this.buffer = device.createBuffer({
      label: "parameters",
      size: bytes,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
    this.#host = new ArrayBuffer(bytes);
    // GPUs and the machines they are in are little-endian.
    this.#words = new Uint32Array(this.#host);
    this.#floats = new Float32Array(this.#host);
  }

  /** Whether a kernel's struct still fits before the next upload. */
  hasRoomFor(kernel: Kernel): boolean {
    return this.#used + this.#bytesOf(kernel) <= this.#host.byteLength;
  }

  /**
   * Appends a kernel's struct.
   *
   * @param repetition of the launch, for what grows with it
   * @returns its offset in bytes
   * @throws Error when a field is missing or unknown
   */
  append(
    kernel: Kernel,
    label: string,
    values: Readonly<Record<string, ParameterValue>>,
    repetition: number,
  ): number {
    const start = this.#used;
    const { parameters } = kernel;
    for (let index = 0; index < parameters.length; index++) {
      const { name, type } = parameters[index];
      const value = values[name];
      if (value === undefined) throw new Error(`${label}: parameter ${name} is missing`);
      // A negative i32 has the bits of the word it wraps to.
      const numbers = type === "f32" ? this.#floats : this.#words;
      numbers[start / 4 + index] = parameterAt(value, repetition);
    }
    let given = 0;
    for (const _ in values) given++;
    if (given !== parameters.length) {
      const known = parameters.map((field) => field.name).join(", ");
      throw new Error(`${label}: parameters are ${known}, got ${Object.keys(values)}`);
    }
    this.#used += this.#bytesOf(kernel);
    return start;
  }

  /** Sends the structs to the GPU ahead of the work that reads them, and starts over. */
  upload(): void {
    if (this.#used > 0) this.device.queue.writeBuffer(this.buffer, 0, this.#host, 0, this.#used);
    this.#used = 0;
  }

  /** Frees the buffer. */
  destroy(): void {
    this.buffer.destroy();
  }

  #bytesOf(kernel: Kernel): number {
    return Math.ceil(kernel.parameterBytes / this.#step) * this.#step;
  }
}
