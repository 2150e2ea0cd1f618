import { GpuActivity } from "./activity.ts";
import { type DeviceInfo, openDevice, type OpenedDevice } from "./adapter.ts";
import { BindGroups } from "./recording/bind_groups.ts";
import { BufferPool } from "./buffer_pool.ts";
import { onGpu } from "../platform/gpus/on_gpu.ts";
import { collectGarbage } from "../platform/gpus/collect_garbage.ts";
import { DeviceFaults } from "./device_faults.ts";
import type { EngineChoice, GpuOptions } from "./gpu_options.ts";
import { expectGrid, type Grid, gridOf } from "./grid.ts";
import type { Kernel, KernelSource } from "./kernel.ts";
import { KernelTable } from "./kernel_table.ts";
import { Kernels } from "./kernels.ts";
import type { ParameterValue } from "./recording/launch_parameters.ts";
import { Readback } from "./readback.ts";
import { Reads } from "./reads.ts";
import { launchesPerSubmit, Recording } from "./recording/recording.ts";
import { limitsThatShow, rehearsalDevice, rehearsalReadback } from "./rehearsal.ts";
import { Rehearsed } from "./rehearsed.ts";
import { Repetition } from "./recording/repetition.ts";
import { costOfTouching, type LaunchCost } from "./recording/submit_pacing.ts";
import {
  bytesOfElements,
  type CacheDtype,
  type DataType,
  dataTypeOf,
  type HostArray,
  Tensor,
} from "./tensor.ts";
import { type ScopeOfSteps, TensorScopes } from "./tensor_scopes.ts";
import { type Precision, type Tuning, tuningOf } from "./tuning.ts";
import { type AskedClasses, VariantChoices } from "./variants.ts";

/**
 * One GPU, as the rest of the engine sees it: tensors, kernels, and one queue of recorded work.
 *
 * Calls record into the current command encoder; `submit` (or any read, or a host write that must
 * not overtake recorded work) sends it off. Work runs in the order it was recorded.
 */
export class Gpu {
  readonly precision: Precision | undefined;
  /** Type that keys and values are rounded to, and stored in while sampling. */
  readonly cacheDtype: CacheDtype;
  /** Abilities of the device by which the kernels choose. */
  readonly tuning: Tuning;
  /** Which variants of the kernels run. */
  readonly choices: VariantChoices;
  readonly pool: BufferPool;
  /** The GPU's work, for those who listen. */
  readonly activity: GpuActivity;
  readonly #scopes: TensorScopes;
  readonly #recording: Recording;
  readonly #repetition: Repetition;
  readonly #faults: DeviceFaults;
  readonly #kernels: Kernels;
  readonly #bindGroups: BindGroups;
  readonly #reads: Reads;

  private constructor(
    readonly device: GPUDevice,
    readonly info: DeviceInfo,
    readback: Pick<Readback, "record" | "immediate">,
    { submitSeconds = 0.1, precision, cacheDtype = "f32" }: GpuOptions,
    /** True when nothing is computed; see `rehearsal`. */
    readonly isRehearsal = false,
    private readonly rehearsals = new Rehearsed(),
  ) {
    this.precision = precision;
    this.cacheDtype = cacheDtype;
    this.tuning = tuningOf(info, device.limits, precision);
    this.choices = new VariantChoices(this.tuning, isRehearsal ? rehearsals.classes : null);
    this.pool = new BufferPool(device, {
      onDestroy: (buffer) => this.#bindGroups.forgetBuffer(buffer.id),
      // Work that is only recorded may not use a buffer that is gone by the time it is sent off.
      beforeTrim: () => this.submit(),
    });
    this.#scopes = new TensorScopes(this.pool);
    this.activity = new GpuActivity(device, info, launchesPerSubmit, readback.immediate);
    this.#recording = new Recording(device, this.activity, submitSeconds);
    this.#repetition = new Repetition(this.#recording, this.pool);
    this.#faults = new DeviceFaults(device);
    const { scopes } = this.#faults;
    const table = isRehearsal ? rehearsals.kernels : new KernelTable();
    this.#kernels = new Kernels(device, info.engine, this.tuning, scopes, table, rehearsals);
    this.#bindGroups = new BindGroups(
      this.#recording.parameters,
      (label, descriptor) => scopes.within(label, () => device.createBindGroup(descriptor)),
      // A GPU's own driver has no use for a pause.
      info.software ? collectGarbage : () => {},
    );
    this.#reads = new Reads(readback, this.#recording, this.activity, this.#faults);
  }

  /**
   * Opens the GPU.
   *
   * @throws UserError when the engine finds no adapter, the one with that number cannot be had, or it does not
   *   have what the precision takes
   */
  static async open(choice: EngineChoice = "auto", options: GpuOptions = {}): Promise<Gpu> {
    const { index, precision = "f32", promisedOnly } = options;
    // Only Dawn shows matrix units.
    const engine = choice !== "auto" ? choice : precision === "f32" ? "native" : "dawn";
    const { device, info } = index === undefined
      ? await openDevice(engine, { promisedOnly })
      : await onGpu(index, () => openDevice(engine, { promisedOnly }));
    const numbered = index === undefined ? info : { ...info, index };
    return await Gpu.on({ device, info: numbered }, options);
  }

  /**
   * The GPU of a device that is open already.
   *
   * @throws UserError when it does not have what the precision takes
   */
  static async on(
    { device, info }: Pick<OpenedDevice, "device" | "info">,
    options: Omit<GpuOptions, "index" | "promisedOnly"> = {},
  ): Promise<Gpu> {
    return new Gpu(device, info, await Readback.open(device, info.engine), options);
  }

  /**
   * This GPU without its memory: what is recorded on it does nothing and reads zeros, but takes the same
   * buffers from its pool, and chooses the same variants. Which classes of shapes it met, `rehearsed` says of both.
   *
   * @param limits where it is to stand for another device
   */
  rehearsal(limits: Partial<GPUSupportedLimits> = {}): Gpu {
    const device = rehearsalDevice({ ...limitsThatShow(this.device.limits), ...limits });
    const { precision, cacheDtype } = this;
    const rehearsal = new Gpu(
      device,
      this.info,
      rehearsalReadback,
      { precision, cacheDtype },
      true,
      this.rehearsals,
    );
    rehearsal.choices.table = this.choices.table;
    return rehearsal;
  }

  /** A device that need not be there, without its memory; see `rehearsal`. */
  static rehearsalOf(
    info: DeviceInfo,
    limits: Partial<GPUSupportedLimits>,
    options: Pick<GpuOptions, "precision" | "cacheDtype"> = {},
  ): Gpu {
    return new Gpu(rehearsalDevice(limits), info, rehearsalReadback, options, true);
  }

  /** Which classes of shapes work has that was rehearsed for this GPU. */
  get rehearsed(): AskedClasses {
    return this.rehearsals.classes;
  }

  /** Rehearsals so far count for nothing: other variants of the kernels will run. */
  forgetRehearsals(): void {
    this.rehearsals.forget();
  }

  /** Frees everything. A process that used Dawn must still end with `Deno.exit`. */
  close(): void {
    this.#faults.closes();
    this.#recording.destroy();
    this.activity.destroy();
    this.device.destroy();
  }

  // Tensors

  /** A tensor with unspecified content. It belongs to the innermost open scope, if any. */
  tensor(shape: readonly number[], dtype: DataType = "f32", label = "tensor"): Tensor {
    const size = shape.reduce((product, n) => product * n, 1);
    const storage = this.pool.acquire(bytesOfElements(dtype, size), label);
    const tensor = new Tensor(storage, shape, dtype, 0, label);
    this.#scopes.add(tensor);
    return tensor;
  }

  /** A tensor filled with zeros. */
  zeros(shape: readonly number[], dtype: DataType = "f32", label = "zeros"): Tensor {
    const tensor = this.tensor(shape, dtype, label);
    this.clear(tensor);
    return tensor;
  }

  /** A tensor that holds `data`. */
  from(data: HostArray, shape: readonly number[], dtype?: DataType, label = "data"): Tensor {
    const type = dtype ?? dataTypeOf(data);
    const tensor = this.tensor(shape, type, label);
    this.write(tensor, data);
    return tensor;
  }

  /** Returns a tensor's memory. Work already recorded may still use it. */
  release(...tensors: Tensor[]): void {
    for (const tensor of tensors) this.#scopes.release(tensor);
  }

  /**
   * Runs `body` and then releases every tensor allocated in it that is not in its result.
   *
   * @throws Error when `body` is asynchronous: its tensors would be released before it ends
   */
  scope<R>(body: () => R, kept: (result: R) => readonly Tensor[] = () => []): R {
    return this.#scopes.run(body, kept);
  }

  /**
   * A scope for work that goes on in several steps, each in a `run` of its own; disposing of it releases what was
   * allocated in them and is not kept.
   */
  steps(): ScopeOfSteps {
    return this.#scopes.steps();
  }

  // Recording

  /**
   * Compiles the kernels that were launched in rehearsals, side by side, so that work need not wait for one after the
   * other. On the native engine nothing is done: there a call returns when its kernel is compiled, whether or not it
   * is asynchronous, so that nothing is won before the launch.
   *
   * @throws Error that names the kernel that does not compile
   */
  compileRehearsed(): Promise<void> {
    return this.#kernels.compileRehearsed();
  }

  /** The kernels that were launched or compiled before, each once, in the order in which they came to be. */
  get kernels(): readonly Kernel[] {
    return this.#kernels.all;
  }

  /** The grid for `groups` workgroups in a row; kernels read `id.y * grid.x + id.x`. */
  grid(groups: number): Grid {
    return gridOf(groups);
  }

  /**
   * Records one kernel launch.
   *
   * @param source the kernel
   * @param parameters the fields of its `Params` struct, all of them
   * @param tensors its storage bindings by their names in the WGSL text, all of them
   * @param grid workgroups
   * @param cost what it does at least; left out, every byte of its tensors is taken to be touched once
   */
  dispatch(
    source: KernelSource,
    parameters: Readonly<Record<string, ParameterValue>>,
    tensors: Readonly<Record<string, Tensor>>,
    grid: Grid,
    cost = costOfTouching(tensors),
  ): void {
    const kernel = this.#kernels.get(source);
    const [x, y = 1, z = 1] = grid;
    if (x === 0 || y === 0 || z === 0) return;
    const { label } = source;
    expectGrid(label, grid);
    const group = this.#bindGroups.get(kernel, label, tensors);
    this.#repetition.launch({ kernel, label, group, parameters, x, y, z, cost });
    this.#faults.launches(label);
  }

  /**
   * Does the same some times over: `body` is called once, and what it launched is launched again with the same
   * tensors, those that it allocated and released included. A parameter may be `Growing`.
   *
   * @throws Error when `body` does anything to the GPU but launch kernels
   */
  repeat(times: number, body: () => void): void {
    this.#repetition.run(times, body);
  }

  /** Into how many launches work should be cut so that none of them alone keeps the GPU too long. */
  launchesFor(cost: LaunchCost): number {
    return this.#recording.launchesFor(cost);
  }

  /** Records a copy of `source` into `target`; both have the same number of bytes. */
  copy(source: Tensor, target: Tensor): void {
    if (source.bytes !== target.bytes) {
      throw new Error(
        `copy: ${source.label} has ${source.bytes} bytes, ${target.label} ${target.bytes}`,
      );
    }
    this.#repetition.expectNone("a copy");
    this.#recording.copy(source, target);
  }

  /** Records filling a tensor with zeros. */
  clear(tensor: Tensor): void {
    this.#repetition.expectNone("clearing a tensor");
    this.#recording.clear(tensor);
  }

  /** Writes host data into a tensor, after all work recorded so far. */
  write(tensor: Tensor, data: HostArray): void {
    if (data.length !== tensor.hostLength) {
      throw new Error(`write to ${tensor.label}: ${data.length} elements into [${tensor.shape}]`);
    }
    // Deno's own engine would end the process.
    if (data.length === 0) throw new Error(`write to ${tensor.label}: it has no elements`);
    this.#repetition.expectNone("writing a tensor");
    this.#recording.write(tensor, data);
  }

  /** Sends the recorded work to the GPU. */
  submit(): void {
    this.#recording.submit();
  }

  // Reading

  /** Reads one tensor, after all work recorded so far. */
  async read(tensor: Tensor): Promise<HostArray> {
    return (await this.readAll([tensor]))[0];
  }

  /** Reads an f32 tensor. */
  async readFloats(tensor: Tensor): Promise<Float32Array> {
    const data = await this.read(tensor);
    if (!(data instanceof Float32Array)) throw new Error(`${tensor.label} is ${tensor.dtype}`);
    return data;
  }

  /**
   * Reads several tensors with one wait.
   *
   * @throws DeviceLost or OutOfMemory when the GPU gave out
   * @throws Error with the first GPU error since the last read, so that no wrong number leaves here
   */
  readAll(tensors: readonly Tensor[]): Promise<HostArray[]> {
    return this.#reads.all(tensors);
  }

  /** Waits until all recorded work has run. */
  async finish(): Promise<void> {
    const probe = this.tensor([1], "u32", "finish");
    try {
      await this.read(probe);
    } finally {
      this.release(probe);
    }
  }
}
