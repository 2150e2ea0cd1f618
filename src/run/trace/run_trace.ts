import type { Gpu } from "../../gpu/gpu.ts";
import type { RunEvent } from "../events/run_event.ts";
import type { RunEvents } from "../events/run_events.ts";
import { KernelActivity, type StepRange } from "./kernel_activity.ts";
import { RunActivity } from "./run_activity.ts";
import { now } from "./span.ts";
import { TraceFile } from "./trace_file.ts";

/** What is written where. */
export interface TraceOptions {
  /** Written when the run begins. */
  readonly path: string;
  /** Steps of which every launch on the GPU is shown; null: none. */
  readonly kernelsOf: StepRange | null;
}

/** Writes a run's timeline as the run tells what happens. */
export class RunTrace implements Disposable {
  #file: TraceFile | null = null;
  readonly #activity = new RunActivity();
  readonly #kernels: KernelActivity | null;

  constructor(private readonly gpu: Gpu, private readonly options: TraceOptions) {
    const { kernelsOf } = options;
    this.#kernels = kernelsOf && new KernelActivity(gpu, kernelsOf);
  }

  /** Hears an event; before the run begins there is no folder to write to. */
  hear(event: RunEvent): void {
    if (event.type === "started") this.#begin();
    const happened = [...this.#activity.hear(event), ...this.#kernels?.hear(event) ?? []];
    this.#file?.add(0, happened);
  }

  /** @throws UserError when the file cannot be written */
  #begin(): void {
    const { info: { name, engine } } = this.gpu;
    this.#file = new TraceFile(this.options.path, now());
    this.#file.nameRank(0, `rank 0: ${name}, ${engine} engine`);
  }

  [Symbol.dispose](): void {
    this.#kernels?.[Symbol.dispose]();
    this.#file?.[Symbol.dispose]();
  }
}

/**
 * Runs all that a run does from its first event to its last, and writes its timeline.
 *
 * @param options null: nobody wants it
 */
export async function withTrace<Result>(
  gpu: Gpu,
  events: RunEvents,
  options: TraceOptions | null,
  body: () => Promise<Result>,
): Promise<Result> {
  if (options === null) return await body();
  using trace = new RunTrace(gpu, options);
  using _listening = events.listen((event) => trace.hear(event));
  return await body();
}
