import { UserError } from "../base/user_error.ts";
import type { DeviceInfo } from "./adapter.ts";
import { type KernelTime, KernelTimes } from "./kernel_times.ts";
import type { LaunchCost } from "./recording/submit_pacing.ts";

/** Told how long launches took, once they have run. */
export type KernelListener = (times: readonly KernelTime[]) => void;

/** Told what each launch costs, when it is recorded. */
export type CostListener = (cost: LaunchCost) => void;

/** Told from when to when there was work, in milliseconds of `performance.now`. */
export type WorkListener = (begin: number, end: number) => void;

/** Told of each piece of a file of weights that has been put on the GPU: bytes so far, and of all that is wanted of it. */
export type LoadListener = (path: string, done: number, total: number) => void;

/** Told of the times in which the host waits for a GPU's answer. */
export interface ReadListener {
  readBegins(): void;
  readEnds(): void;
}

/** What a GPU does, for those who listen: its work, its kernels one by one, and the host's waiting for it. */
export class GpuActivity {
  /** Told of every read. */
  reads: ReadListener | null = null;
  /** Told of weights that are read from files. */
  loads: LoadListener | null = null;
  /** Told of every launch. */
  costs: CostListener | null = null;
  /** Null until somebody listens. */
  #kernelTimes: KernelTimes | null = null;
  #kernelListener: KernelListener | null = null;
  #workListener: WorkListener | null = null;
  /** When the first of the work was recorded that is not known to have run; null when there is none. */
  #busySince: number | null = null;

  /**
   * @param launches of one submit, at most
   * @param immediate whether a buffer is mapped when the call returns, see `Readback`
   */
  constructor(
    private readonly device: GPUDevice,
    private readonly info: DeviceInfo,
    private readonly launches: number,
    private readonly immediate: boolean,
  ) {}

  /**
   * Measures every launch from now on and tells how long each took at the next read; null ends it.
   *
   * @throws UserError when the device cannot measure them
   */
  listenToKernels(listener: KernelListener | null): void {
    const { device, info, launches, immediate } = this;
    if (listener !== null) {
      if (!device.features.has("timestamp-query")) {
        throw new UserError(
          `${info.name} has no timestamp queries with the ${info.engine} engine, so that kernels ` +
            `cannot be timed.`,
        );
      }
      this.#kernelTimes ??= new KernelTimes(device, launches, immediate);
    }
    this.#kernelListener = listener;
  }

  /** Tells at each read from when on there was work, recorded or running; null ends it. */
  listenToWork(listener: WorkListener | null): void {
    this.#workListener = listener;
  }

  /** Whether each launch needs a pass of its own. */
  get timesKernels(): boolean {
    return this.#kernelListener !== null;
  }

  /** Timestamps that the pass of the next launch writes. */
  nextLaunch(label: string): GPUComputePassTimestampWrites | undefined {
    return this.#kernelTimes?.next(label);
  }

  /** Work is recorded. */
  begins(): void {
    this.#busySince ??= performance.now();
  }

  /** A submit ends. */
  resolve(encoder: GPUCommandEncoder): void {
    this.#kernelTimes?.resolve(encoder);
  }

  /**
   * The work that was waited for has run.
   *
   * @param hasMore whether work was recorded or sent meanwhile
   */
  async ran(now: number, hasMore: boolean): Promise<void> {
    if (this.#busySince !== null) this.#workListener?.(this.#busySince, now);
    this.#busySince = hasMore ? now : null;
    const times = await this.#kernelTimes?.read();
    if (times && times.length > 0) this.#kernelListener?.(times);
  }

  /** Returns the GPU memory. */
  destroy(): void {
    this.#kernelTimes?.destroy();
  }
}
