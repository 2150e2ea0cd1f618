/** What the page knows of its run: what the worker told, one message after another. */

import type { DeviceInfo } from "../../gpu/adapter.ts";
import type { Headline } from "../../run/report/report.ts";
import type { MetricsLine } from "../../run/store/metrics_log.ts";
import type { Sample } from "../../run/store/samples_log.ts";
import type { KeptRun, ToldOfTraining } from "../worker/messages.ts";

export interface RunState {
  /** `looking`: whether a run is kept is not known yet. */
  readonly phase: "looking" | "idle" | "starting" | "training" | "paused" | "ended" | "failed";
  readonly kept: KeptRun | null;
  readonly device: DeviceInfo | null;
  /** What it does before the first step. */
  readonly doing: string;
  readonly step: number;
  readonly total: number;
  readonly lines: readonly MetricsLine[];
  /** Of each step since the page was opened. */
  readonly seconds: readonly number[];
  readonly samples: readonly Sample[];
  readonly warnings: readonly string[];
  readonly headlines: readonly Headline[];
  readonly reachedEnd: boolean;
  readonly failure: string | null;
  /** What was asked of the run and comes after its step; "" for nothing. */
  readonly asked: "" | "pause" | "stop";
}

export const NO_RUN: RunState = {
  phase: "looking",
  kept: null,
  device: null,
  doing: "",
  step: 0,
  total: 0,
  lines: [],
  seconds: [],
  samples: [],
  warnings: [],
  headlines: [],
  reachedEnd: false,
  failure: null,
  asked: "",
};

/** What the page knows after one more message; the page itself says what it asked for. */
export function after(
  state: RunState,
  told: ToldOfTraining | { readonly type: "starting" | "pausing" | "stopping" },
): RunState {
  switch (told.type) {
    case "starting":
      return { ...NO_RUN, phase: "starting", device: state.device };
    case "pausing":
      return { ...state, asked: "pause" };
    case "stopping":
      return { ...state, asked: "stop" };
    case "kept":
      return { ...state, phase: state.phase === "looking" ? "idle" : state.phase, kept: told.run };
    case "device":
      return { ...state, device: told.device };
    case "doing":
      return { ...state, doing: told.text };
    case "started": {
      const { step, total, lines } = told;
      return { ...state, phase: "training", step, total, lines };
    }
    case "measured": {
      const { line, seconds } = told;
      return {
        ...state,
        step: Math.max(state.step, line.step),
        lines: [...state.lines, line],
        seconds: seconds === null ? state.seconds : [...state.seconds, seconds],
      };
    }
    case "samples":
      return { ...state, samples: told.samples };
    case "paused":
      return { ...state, phase: "paused", asked: "" };
    case "continued":
      return { ...state, phase: "training" };
    case "warning":
      return { ...state, warnings: [...new Set([...state.warnings, told.message])] };
    case "headlines":
      return { ...state, headlines: told.headlines };
    case "ended":
      return { ...state, phase: "ended", reachedEnd: told.reachedEnd };
    case "failed":
      return { ...state, phase: "failed", failure: told.message };
    case "file":
      return state;
  }
}

/** Seconds until the last step, from the median of the last ones; null before there are any. */
export function secondsLeft({ seconds, step, total }: RunState): number | null {
  const last = seconds.slice(-31).toSorted((a, b) => a - b);
  return last.length === 0 ? null : last[last.length >> 1] * (total - step);
}
