import type { Kernel } from "./kernel.ts";

/**
 * Parameter structs of the dispatches recorded since the last upload, one after the other in one uniform
 * buffer. A launch names its own by a dynamic offset, so that launches share bind groups.
 */
export class ParameterArena {
  readonly buffer: GPUBuffer;
  readonly #host: ArrayBuffer;
  readonly #view: DataView;
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
    this.#view = new DataView(this.#host);
  }

  /** Whether a kernel's struct still fits before the next upload. */
  hasRoomFor(kernel: Kernel): boolean {
    return this.#used + this.#bytesOf(kernel) <= this.#host.byteLength;
  }

  /**
   * Appends a kernel's struct.
   *
   * @returns its offset in bytes
   * @throws Error when a field is missing or unknown
   */
  append(kernel: Kernel, label: string, values: Readonly<Record<string, number>>): number {
    const start = this.#used;
    kernel.parameters.forEach(({ name, type }, index) => {
      const value = values[name];
      if (value === undefined) throw new Error(`${label}: parameter ${name} is missing`);
      const byte = start + 4 * index;
      if (type === "f32") this.#view.setFloat32(byte, value, true);
      else if (type === "i32") this.#view.setInt32(byte, value, true);
      else this.#view.setUint32(byte, value, true);
    });
    if (Object.keys(values).length !== kernel.parameters.length) {
      const known = kernel.parameters.map((field) => field.name).join(", ");
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
