/** What the page and the worker that trains say to each other. */

import type { DeviceInfo } from "../../gpu/adapter.ts";
import type { Headline } from "../../run/report/report.ts";
import type { MetricsLine } from "../../run/store/metrics_log.ts";
import type { Sample } from "../../run/store/samples_log.ts";

/** What the worker is asked for. */
export type Asked =
  /** Whether a run is kept in this browser. */
  | { readonly type: "look" }
  /** Trains anew; settings as `--set` has them. */
  | { readonly type: "start"; readonly preset: string; readonly settings: readonly string[] }
  /** Goes on with the run that is kept. */
  | { readonly type: "resume" }
  /** Keeps no run any more. */
  | { readonly type: "forget" }
  | { readonly type: "pause" | "continue" | "stop" }
  /** The run's folder as a file. */
  | { readonly type: "download" };

/** What the worker tells. */
export type Told =
  | { readonly type: "kept"; readonly run: KeptRun | null }
  | { readonly type: "device"; readonly device: DeviceInfo }
  /** A line of text on what it is about to do. */
  | { readonly type: "doing"; readonly text: string }
  /** A run begins, or goes on after `step`, with all that was measured before. */
  | {
    readonly type: "started";
    readonly step: number;
    readonly total: number;
    readonly lines: readonly MetricsLine[];
  }
  | { readonly type: "measured"; readonly line: MetricsLine; readonly seconds: number | null }
  | { readonly type: "samples"; readonly samples: readonly Sample[] }
  | { readonly type: "paused" | "continued" }
  | { readonly type: "warning"; readonly message: string }
  /** What was measured on held-out problems, first and last, as the report has it. */
  | { readonly type: "headlines"; readonly headlines: readonly Headline[] }
  | { readonly type: "ended"; readonly reachedEnd: boolean }
  /** `isUsers`: the message says what can be done about it. */
  | { readonly type: "failed"; readonly message: string; readonly isUsers: boolean }
  | { readonly type: "file"; readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> };

/** A run that this browser keeps. */
export interface KeptRun {
  /** Of its newest checkpoint. */
  readonly step: number;
  readonly total: number;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly saved: number;
}
