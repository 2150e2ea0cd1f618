import type { GpuActivity } from "../activity.ts";
import type { Kernel } from "../kernel.ts";
import type { ParameterValue } from "./launch_parameters.ts";
import { ParameterArena } from "./parameter_arena.ts";
import { type LaunchCost, SubmitPacing } from "./submit_pacing.ts";
import type { HostArray, Tensor } from "../tensor.ts";

/** A launch with all it needs to be recorded, once or again. */
export interface Launch {
  readonly kernel: Kernel;
  readonly label: string;
  readonly group: GPUBindGroup;
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  readonly x: number;
  readonly y: number;
  readonly z: number;
  readonly cost: LaunchCost;
}

/** Launches whose parameters the arena holds, and with it one submit. */
export const launchesPerSubmit = 1024;

const noOffsets: number[] = [];

/**
 * Work on its way to a device: recorded into one command encoder, in order, and sent off when asked, when a submit
 * would take too long with more of it, or when the host's writing must not overtake it.
 */
export class Recording {
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  readonly #pacing: SubmitPacing;
  readonly #parameters: ParameterArena;
  #launches = 0;
  /** Dynamic offset of the launch that is being recorded; one array for all, so that none is allocated. */
  readonly #offsets = [0];

  /** @param submitSeconds that a submit may take, as estimated */
  constructor(
    private readonly device: GPUDevice,
    private readonly activity: GpuActivity,
    submitSeconds: number,
  ) {
    this.#pacing = new SubmitPacing(submitSeconds);
    this.#parameters = new ParameterArena(device, launchesPerSubmit);
  }

  /** The buffer of the launches' parameters. */
  get parameters(): GPUBuffer {
    return this.#parameters.buffer;
  }

  /** Records a launch, one repetition of it where parameters grow. */
  launch(launch: Launch, repetition: number): void {
    const { kernel, label, group, parameters, x, y, z, cost } = launch;
    if (this.#launches >= launchesPerSubmit || !this.#parameters.hasRoomFor(kernel)) this.submit();
    this.#makeRoomFor(cost);
    this.#offsets[0] = this.#parameters.append(kernel, label, parameters, repetition);
    const { timesKernels } = this.activity;
    const pass = timesKernels ? this.#timedPass(label) : this.#openPass();
    pass.setPipeline(kernel.pipeline);
    pass.setBindGroup(0, group, kernel.parameterBytes > 0 ? this.#offsets : noOffsets);
    pass.dispatchWorkgroups(x, y, z);
    if (timesKernels) this.#endPass();
    this.#launches++;
    this.#pacing.record(cost);
    this.activity.costs?.(cost);
  }

  /** Into how many launches work should be cut so that none of them alone keeps the GPU too long. */
  launchesFor(cost: LaunchCost): number {
    return this.#pacing.launchesFor(cost);
  }

  /** Records a copy between tensors of the same number of bytes. */
  copy(source: Tensor, target: Tensor): void {
    this.#command({ bytes: 2 * source.bytes }, (encoder) =>
      encoder.copyBufferToBuffer(
        source.storage.buffer,
        source.byteOffset,
        target.storage.buffer,
        target.byteOffset,
        source.bytes,
      ));
  }

  /** Records filling a tensor with zeros. */
  clear({ storage, byteOffset, bytes }: Tensor): void {
    this.#command({ bytes }, (encoder) => encoder.clearBuffer(storage.buffer, byteOffset, bytes));
  }

  /** Writes host data of a tensor's length into it, after all work recorded so far. */
  write(tensor: Tensor, data: HostArray): void {
    if (this.#encoder) this.submit();
    let bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
    if (bytes.byteLength % 4 !== 0) {
      const padded = new Uint8Array(Math.ceil(bytes.byteLength / 4) * 4);
      padded.set(bytes);
      bytes = padded;
    }
    this.device.queue.writeBuffer(tensor.storage.buffer, tensor.byteOffset, bytes);
  }

  /** Sends the recorded work to the GPU. */
  submit(): void {
    const encoder = this.#encoder;
    if (!encoder) return;
    this.#endPass();
    this.activity.resolve(encoder);
    this.#parameters.upload();
    this.#encoder = null;
    this.#launches = 0;
    this.device.queue.submit([encoder.finish()]);
    this.#pacing.submitted(performance.now());
  }

  /** Sends the recorded work to the GPU, and behind it what `record` records. */
  submitWith<R>(record: (encoder: GPUCommandEncoder) => R): R {
    this.#endPass();
    const result = record(this.#openEncoder());
    this.submit();
    return result;
  }

  /** A mark behind all work sent so far, for `ran`. */
  get mark(): number {
    return this.#pacing.mark;
  }

  /**
   * The work up to a mark has run.
   *
   * @param now milliseconds of `performance.now`
   * @returns whether more was recorded or sent after it
   */
  ran(mark: number, now: number): boolean {
    return !this.#pacing.ran(mark, now) || this.#encoder !== null;
  }

  /** Frees what holds the parameters. */
  destroy(): void {
    this.#parameters.destroy();
  }

  /** Records what is no launch. */
  #command(cost: LaunchCost, record: (encoder: GPUCommandEncoder) => void): void {
    this.#makeRoomFor(cost);
    this.#endPass();
    record(this.#openEncoder());
    this.#pacing.record(cost);
  }

  /** Sends off what was recorded when the submit would take too long with this in it. */
  #makeRoomFor(cost: LaunchCost): void {
    if (!this.#pacing.hasRoomFor(cost)) this.submit();
  }

  #openEncoder(): GPUCommandEncoder {
    this.activity.begins();
    return this.#encoder ??= this.device.createCommandEncoder();
  }

  #openPass(): GPUComputePassEncoder {
    return this.#pass ??= this.#openEncoder().beginComputePass();
  }

  /** A pass for one launch. */
  #timedPass(label: string): GPUComputePassEncoder {
    this.#endPass();
    const timestampWrites = this.activity.nextLaunch(label);
    return this.#pass = this.#openEncoder().beginComputePass({ timestampWrites });
  }

  #endPass(): void {
    this.#pass?.end();
    this.#pass = null;
  }
}
