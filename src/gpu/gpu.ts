import { GpuActivity } from "./activity.ts";
import { type DeviceInfo, type EngineName, openDevice } from "./adapter.ts";
import { onGpu } from "./choice/on_gpu.ts";
import { collectGarbage } from "./collect_garbage.ts";
import { BindGroups } from "./bind_groups.ts";
import { BufferPool } from "./buffer_pool.ts";
import { ErrorScopes } from "./error_scopes.ts";
import { DeviceLost } from "./gpu_failure.ts";
import { compile, compileAside, type Kernel, type KernelSource } from "./kernel.ts";
import { KernelTable } from "./kernel_table.ts";
import type { ParameterValue } from "./launch_parameters.ts";
import { ParameterArena } from "./parameter_arena.ts";
import { Readback } from "./readback.ts";
import { rehearsalDevice, rehearsalReadback } from "./rehearsal.ts";
import { type LaunchCost, SubmitPacing } from "./submit_pacing.ts";
import { bytesOf, type DataType, dataTypeOf, type HostArray, Tensor } from "./tensor.ts";
import { type ScopeOfSteps, TensorScopes } from "./tensor_scopes.ts";
import { type Precision, type Tuning, tuningOf } from "./tuning.ts";
import { AskedClasses, VariantChoices } from "./variants.ts";

/** What `--gpu` accepts. `auto` takes the native engine, and Dawn where the precision takes matrix units. */
export type EngineChoice = "auto" | EngineName;

/** A workgroup grid: [x, y, z], missing entries are 1. */
export type Grid = readonly [number, number?, number?];

/** No dimension of a grid may exceed this; `Gpu.grid` folds longer ones into two. */
const maxGroupsPerDimension = 65535;
/** Launches whose parameters the arena holds, and with it one submit. */
const launchesPerSubmit = 1024;

/** A launch with all it needs to be recorded once more. */
interface Launch {
  readonly kernel: Kernel;
  readonly label: string;
  readonly group: GPUBindGroup;
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  readonly x: number;
  readonly y: number;
  readonly z: number;
  readonly cost: LaunchCost;
}

const noOffsets: number[] = [];

/** How a GPU is opened. */
export interface GpuOptions {
  /** Seconds that a submit may take, as estimated; 0.1 by default. */
  readonly submitSeconds?: number;
  /** Number of the GPU, see `listGpus`; left out, the engine takes the one it thinks fastest. */
  readonly index?: number;
  /** Of products of activations with weights; f32 by default. */
  readonly precision?: Precision;
}

/**
 * One GPU, as the rest of the engine sees it: tensors, kernels, and one queue of recorded work.
 *
 * Calls record into the current command encoder; `submit` (or any read, or a host write that must
 * not overtake recorded work) sends it off. Work runs in the order it was recorded.
 */
export class Gpu {
  readonly info: DeviceInfo;
  readonly precision: Precision | undefined;
  /** What the kernels choose by. */
  readonly tuning: Tuning;
  /** Which variants of the kernels run. */
  readonly choices: VariantChoices;
  readonly pool: BufferPool;
  readonly #kernels: KernelTable;
  readonly #bindGroups: BindGroups;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  readonly #pacing: SubmitPacing;
  #launches = 0;
  /** Of the launch that is being recorded. */
  readonly #offsets = [0];
  /** What `repeat` is to launch again; null outside of it. */
  #repeated: Launch[] | null = null;
  #repetition = 0;
  #failure: Error | null = null;
  #lost: GPUDeviceLostInfo | null = null;
  readonly #errors: ErrorScopes;
  /** Labels of the kernels launched since the last read, for error messages. */
  #launched = new Set<string>();
  #closed = false;
  readonly #scopes: TensorScopes;
  readonly #parameters: ParameterArena;
  /** What it does, for those who listen. */
  readonly activity: GpuActivity;

  private constructor(
    readonly device: GPUDevice,
    info: DeviceInfo,
    private readonly readback: Pick<Readback, "record" | "immediate">,
    { submitSeconds = 0.1, precision }: GpuOptions,
    /** True when nothing is computed; see `rehearsal`. */
    readonly isRehearsal = false,
    /** Which classes of shapes work has that was rehearsed for this GPU. */
    readonly rehearsed = new AskedClasses(),
    /** Which kernels it launched. */
    private readonly rehearsedKernels = new KernelTable(),
  ) {
    this.#kernels = isRehearsal ? rehearsedKernels : new KernelTable();
    this.info = info;
    this.precision = precision;
    this.tuning = tuningOf(info, device.limits, precision);
    this.choices = new VariantChoices(this.tuning, isRehearsal ? rehearsed : null);
    this.#pacing = new SubmitPacing(submitSeconds);
    this.pool = new BufferPool(device, {
      onDestroy: (buffer) => this.#bindGroups.forgetBuffer(buffer.id),
      // Work that is only recorded may not use a buffer that is gone by the time it is sent off.
      beforeTrim: () => this.submit(),
    });
    this.#scopes = new TensorScopes(this.pool);
    this.activity = new GpuActivity(device, info, launchesPerSubmit, readback.immediate);
    this.#parameters = new ParameterArena(device, launchesPerSubmit);
    this.#errors = new ErrorScopes(device);
    this.#bindGroups = new BindGroups(
      this.#parameters.buffer,
      (label, descriptor) => this.#errors.within(label, () => device.createBindGroup(descriptor)),
      // A GPU's own driver has no use for a pause.
      info.software ? collectGarbage : () => {},
    );
    // What the scopes do not see: a driver's own complaints outside any call.
    device.addEventListener("uncapturederror", (event) => {
      this.#failure ??= new Error(`GPU error: ${(event as GPUUncapturedErrorEvent).error.message}`);
    });
    device.lost.then((lost) => {
      if (!this.#closed) this.#lost = lost;
    });
  }

  /**
   * Opens the GPU.
   *
   * @throws UserError when the engine finds no adapter, the one with that number cannot be had, or it does not
   *   have what the precision takes
   */
  static async open(choice: EngineChoice = "auto", options: GpuOptions = {}): Promise<Gpu> {
    const { index, precision = "f32" } = options;
    // Only Dawn shows matrix units.
    const engine = choice !== "auto" ? choice : precision === "f32" ? "native" : "dawn";
    const { device, info } = index === undefined
      ? await openDevice(engine)
      : await onGpu(index, () => openDevice(engine));
    const numbered = index === undefined ? info : { ...info, index };
    return new Gpu(device, numbered, await Readback.open(device, engine), options);
  }

  /**
   * This GPU without its memory: what is recorded on it does nothing and reads zeros, but takes the same
   * buffers from its pool, and chooses the same variants. Which classes of shapes it met, `rehearsed` says of both.
   *
   * @param limits where it is to stand for another device
   */
  rehearsal(limits: Partial<GPUSupportedLimits> = {}): Gpu {
    const { limits: own } = this.device;
    const known = {
      maxStorageBufferBindingSize: own.maxStorageBufferBindingSize,
      maxBufferSize: own.maxBufferSize,
      minUniformBufferOffsetAlignment: own.minUniformBufferOffsetAlignment,
      maxComputeWorkgroupStorageSize: own.maxComputeWorkgroupStorageSize,
      maxComputeInvocationsPerWorkgroup: own.maxComputeInvocationsPerWorkgroup,
      ...limits,
    };
    const rehearsal = new Gpu(
      rehearsalDevice(known),
      this.info,
      rehearsalReadback,
      { precision: this.precision },
      true,
      this.rehearsed,
      this.rehearsedKernels,
    );
    rehearsal.choices.table = this.choices.table;
    return rehearsal;
  }

  /** A device that need not be there, without its memory; see `rehearsal`. */
  static rehearsalOf(info: DeviceInfo, limits: Partial<GPUSupportedLimits>): Gpu {
    return new Gpu(rehearsalDevice(limits), info, rehearsalReadback, {}, true);
  }

  /** Frees everything. A process that used Dawn must still end with `Deno.exit`. */
  close(): void {
    this.#closed = true;
    this.#parameters.destroy();
    this.activity.destroy();
    this.device.destroy();
  }

  // Tensors

  /** A tensor with unspecified content. It belongs to the innermost open scope, if any. */
  tensor(shape: readonly number[], dtype: DataType = "f32", label = "tensor"): Tensor {
    const size = shape.reduce((product, n) => product * n, 1);
    const storage = this.pool.acquire(Math.ceil(size * bytesOf(dtype) / 4) * 4, label);
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

  /** Compiles a kernel. */
  readonly #compile = (source: KernelSource): Kernel =>
    this.#errors.within(
      `kernel ${source.label} does not compile`,
      () => compile(this.device, this.info.engine, this.tuning, source),
    );

  /**
   * Compiles the kernels that were launched in rehearsals, side by side, so that work need not wait for one after the
   * other. On the native engine nothing is done: there a call returns when its kernel is compiled, whether or not it
   * is asynchronous, so that nothing is won before the launch.
   *
   * @throws Error that names the kernel that does not compile
   */
  async compileRehearsed(): Promise<void> {
    const { device, info: { engine }, tuning } = this;
    if (engine === "native") return;
    const missing = this.rehearsedKernels.sources.filter((source) => !this.#kernels.has(source));
    const compiled = missing.map(async (source) => {
      const what = `kernel ${source.label} does not compile`;
      try {
        const aside = () => compileAside(device, engine, tuning, source);
        const kernel = await this.#errors.within(what, aside);
        this.#kernels.get(source, () => kernel);
      } catch (cause) {
        // What is wrong with its text, the scope was told.
        throw await this.#errors.settle() ?? new Error(`${what}: ${cause}`, { cause });
      }
    });
    await Promise.all(compiled);
  }

  /** The kernels that were launched or compiled before, each once, in the order in which they came to be. */
  get kernels(): readonly Kernel[] {
    return this.#kernels.all;
  }

  /** The grid for `groups` workgroups in a row; kernels read `id.y * grid.x + id.x`. */
  grid(groups: number): Grid {
    if (groups <= maxGroupsPerDimension) return [groups];
    const y = Math.ceil(groups / maxGroupsPerDimension);
    return [Math.ceil(groups / y), y];
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
    cost = touching(tensors),
  ): void {
    const kernel = this.#kernels.get(source, this.#compile);
    const [x, y = 1, z = 1] = grid;
    if (x === 0 || y === 0 || z === 0) return;
    if (Math.max(x, y, z) > maxGroupsPerDimension) {
      throw new Error(
        `${source.label}: a grid of [${grid}] workgroups, at most ${maxGroupsPerDimension} each way ` +
          `are allowed; fold it with Gpu.grid`,
      );
    }
    const group = this.#bindGroups.get(kernel, source.label, tensors);
    const launch = { kernel, label: source.label, group, parameters, x, y, z, cost };
    this.#launch(launch, this.#repetition);
    this.#repeated?.push(launch);
    this.#launched.add(source.label);
  }

  /**
   * Does the same some times over: `body` is called once, and what it launched is launched again with the same
   * tensors, those that it allocated and released included. A parameter may be `Growing`.
   *
   * @throws Error when `body` does anything to the GPU but launch kernels
   */
  repeat(times: number, body: () => void): void {
    if (this.#repeated) throw new Error("Gpu.repeat: not within itself");
    try {
      for (let done = 0; done < times;) {
        const launches: Launch[] = this.#repeated = [];
        const { trims } = this.pool;
        this.#repetition = done++;
        body();
        this.#repeated = null;
        // What a trim destroyed may be among their tensors.
        if (trims !== this.pool.trims) continue;
        for (; done < times; done++) {
          for (const launch of launches) this.#launch(launch, done);
        }
      }
    } finally {
      this.#repeated = null;
      this.#repetition = 0;
    }
  }

  #launch(launch: Launch, repetition: number): void {
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
  }

  /** @throws Error within `repeat`, which would not do it again */
  #expectNoRepetition(what: string): void {
    if (this.#repeated) throw new Error(`Gpu.repeat repeats launches alone, not ${what}`);
  }

  /** Into how many launches work should be cut so that none of them alone keeps the GPU too long. */
  launchesFor(cost: LaunchCost): number {
    return this.#pacing.launchesFor(cost);
  }

  #openEncoder(): GPUCommandEncoder {
    this.activity.begins();
    return this.#encoder ??= this.device.createCommandEncoder();
  }

  /** Sends off what was recorded when the submit would take too long with this in it. */
  #makeRoomFor(cost: LaunchCost): void {
    if (!this.#pacing.hasRoomFor(cost)) this.submit();
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

  /** Records a copy of `source` into `target`; both have the same number of bytes. */
  copy(source: Tensor, target: Tensor): void {
    if (source.bytes !== target.bytes) {
      throw new Error(
        `copy: ${source.label} has ${source.bytes} bytes, ${target.label} ${target.bytes}`,
      );
    }
    this.#expectNoRepetition("a copy");
    const cost = { bytes: 2 * source.bytes };
    this.#makeRoomFor(cost);
    this.#endPass();
    this.#openEncoder().copyBufferToBuffer(
      source.storage.buffer,
      source.byteOffset,
      target.storage.buffer,
      target.byteOffset,
      source.bytes,
    );
    this.#pacing.record(cost);
  }

  /** Records filling a tensor with zeros. */
  clear(tensor: Tensor): void {
    this.#expectNoRepetition("clearing a tensor");
    const cost = { bytes: tensor.bytes };
    this.#makeRoomFor(cost);
    this.#endPass();
    this.#openEncoder().clearBuffer(tensor.storage.buffer, tensor.byteOffset, tensor.bytes);
    this.#pacing.record(cost);
  }

  /** Writes host data into a tensor, after all work recorded so far. */
  write(tensor: Tensor, data: HostArray): void {
    if (data.length !== tensor.size) {
      throw new Error(`write to ${tensor.label}: ${data.length} elements into [${tensor.shape}]`);
    }
    this.#expectNoRepetition("writing a tensor");
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
  async readAll(tensors: readonly Tensor[]): Promise<HostArray[]> {
    let buffers: ArrayBuffer[] = [];
    let unread: Error | null = null;
    this.activity.reads?.readBegins();
    try {
      const bytes = this.#readBytes(tensors);
      const mark = this.#pacing.mark;
      buffers = await bytes;
      const now = performance.now();
      const hasMore = !this.#pacing.ran(mark, now) || this.#encoder !== null;
      await this.activity.ran(now, hasMore);
    } catch (cause) {
      unread = new Error(`The GPU could not be read: ${cause}`, { cause });
      // The event that says that the device was lost comes a turn later than the failed read.
      await new Promise((resolve) => setTimeout(resolve, 0));
    } finally {
      this.activity.reads?.readEnds();
    }
    const launched = `launched since the last read: ${[...this.#launched].join(", ") || "nothing"}`;
    if (this.#lost) {
      const { reason, message } = this.#lost;
      const why = [reason, message.trim()].filter((words) => words).join(": ");
      throw new DeviceLost(`The GPU was lost (${why}; ${launched}).`);
    }
    const failure = await this.#errors.settle() ?? this.#failure ?? unread;
    this.#failure = null;
    this.#launched.clear();
    if (!failure) return buffers.map((buffer, i) => tensors[i].arrayOf(buffer));
    failure.message += ` (${launched})`;
    throw failure;
  }

  #readBytes(tensors: readonly Tensor[]): Promise<ArrayBuffer[]> {
    this.#endPass();
    const encoder = this.#openEncoder();
    const ranges = tensors.map(({ storage, byteOffset, bytes }) => ({
      buffer: storage.buffer,
      offset: byteOffset,
      bytes,
    }));
    const wait = this.readback.record(encoder, ranges);
    this.submit();
    return wait();
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

function touching(tensors: Readonly<Record<string, Tensor>>): LaunchCost {
  let bytes = 0;
  for (const name in tensors) bytes += tensors[name].bytes;
  return { bytes };
}
