/** What the page knows of its measurement: what the worker told, one message after another. */

import type { BenchResult, ResultsFile } from "../results.ts";
import type { MeasuredTold } from "./messages.ts";

export interface ReportState {
  readonly phase: "idle" | "measuring" | "done" | "failed";
  readonly adapter: string;
  /** Measurements in all. */
  readonly tasks: number;
  readonly results: readonly BenchResult[];
  /** What this device did not take, with the reason. */
  readonly refused: readonly string[];
  readonly file: ResultsFile | null;
  /** What the file should be called. */
  readonly name: string;
  readonly failure: string | null;
}

export const NO_REPORT: ReportState = {
  phase: "idle",
  adapter: "",
  tasks: 0,
  results: [],
  refused: [],
  file: null,
  name: "",
  failure: null,
};

/** What the page knows after one more message; `starting` when the page itself asked for it. */
export function after(
  state: ReportState,
  told: MeasuredTold | { readonly type: "starting" },
): ReportState {
  switch (told.type) {
    case "starting":
      return { ...NO_REPORT, phase: "measuring" };
    case "began":
      return { ...state, adapter: told.adapter, tasks: told.tasks };
    case "result":
      return { ...state, results: [...state.results, told.result] };
    case "refused":
      return { ...state, refused: [...state.refused, `${told.name}: ${told.message}`] };
    case "done":
      return { ...state, phase: "done", file: told.file, name: told.name };
    case "failed":
      return { ...state, phase: "failed", failure: told.message };
  }
}
