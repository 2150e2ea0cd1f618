import { type Command, InvalidArgumentError } from "commander";
import type { RunFolder } from "../run/store/run_folder.ts";
import type { StepRange } from "../run/trace/kernel_activity.ts";
import type { TraceOptions } from "../run/trace/run_timeline.ts";

/** What `addTraceOptions` makes commander collect. */
export interface TracedRunOptions {
  /** True without a file of its own. */
  readonly trace?: string | true;
  readonly traceKernels?: StepRange;
}

/** Their names, for a command that goes through all its options. */
export const TRACE_OPTIONS = ["trace", "traceKernels"];

/** Adds --trace and --trace-kernels. */
export function addTraceOptions(command: Command): Command {
  return command
    .option(
      "--trace [file]",
      "write a timeline for ui.perfetto.dev, by default trace.json in the run's folder",
    )
    .option(
      "--trace-kernels <steps>",
      "with every launch on the GPU in these steps, such as 12 or 12-14",
      parseSteps,
    );
}

/** What is to be written; null when nothing is. */
export function traceOptions(
  { trace, traceKernels }: TracedRunOptions,
  folder: RunFolder,
): TraceOptions | null {
  if (trace === undefined && traceKernels === undefined) return null;
  const path = typeof trace === "string" ? trace : folder.nextTrace;
  return { path, kernelsOf: traceKernels ?? null };
}

/** The line that says where the timeline is. */
export function describeTrace({ path }: TraceOptions): string {
  return `timeline: ${path}, to be opened at ui.perfetto.dev`;
}

function parseSteps(text: string): StepRange {
  const match = /^(\d+)(?:-(\d+))?$/.exec(text);
  const [first, last] = match ? [Number(match[1]), Number(match[2] ?? match[1])] : [0, 0];
  if (first < 1 || last < first) {
    throw new InvalidArgumentError("Expected a step or a range of steps, such as 12 or 12-14.");
  }
  return { first, last };
}
