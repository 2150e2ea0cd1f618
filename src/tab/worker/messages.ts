/** What the page and the worker that trains say to each other. */

import type { DeviceInfo } from "../../gpu/adapter.ts";
import type { Headline } from "../../run/report/report.ts";
import type { MetricsLine } from "../../run/store/metrics_log.ts";
import type { Sample } from "../../run/store/samples_log.ts";

/** What the worker is asked for. */
export type Asked = AskedOfTraining | AskedOfModel;

/** What it tells. */
export type Told = ToldOfTraining | ToldOfModel;

/** What is asked of a model of the visitor's. */
export type AskedOfModel =
  /** A .gguf file, or the files of a Hugging Face folder. */
  | { readonly type: "open"; readonly files: readonly File[] }
  | { readonly type: "say"; readonly text: string }
  /** Forgets what was said. */
  | { readonly type: "clear" }
  /** Trains an adapter on a file of examples, in so many updates. */
  | { readonly type: "teach"; readonly examples: File; readonly updates: number }
  /** Ends the lesson after its present update; the model stays as it was. */
  | { readonly type: "endLesson" }
  /** The adapter that was trained, as a file. */
  | { readonly type: "downloadAdapter" };

/** What is told of a model of the visitor's. */
export type ToldOfModel =
  | {
    readonly type: "opened";
    readonly name: string;
    readonly parameters: number;
    /** The most GPU memory that talking with it takes. */
    readonly bytes: number;
    /** The file that its adapter was trained on; null for the model as it was chosen. */
    readonly taughtBy: string | null;
    /** Whether a lesson has just come to its end. */
    readonly learned: boolean;
    readonly device: DeviceInfo;
  }
  /** A line of text on what comes before a lesson's first update. */
  | { readonly type: "doing"; readonly text: string }
  /** A lesson begins, of so many updates. */
  | { readonly type: "lesson"; readonly total: number }
  /** An update, or a measurement on examples that are not trained on. */
  | { readonly type: "learned"; readonly line: MetricsLine }
  | { readonly type: "file"; readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> }
  /** A piece of the reply. */
  | { readonly type: "piece"; readonly text: string }
  /** The reply is whole, or was cut off. */
  | {
    readonly type: "said";
    readonly tokens: number;
    readonly seconds: number;
    readonly finished: boolean;
  }
  | { readonly type: "failed"; readonly message: string };

/** What is asked of training. */
export type AskedOfTraining =
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

/** What is told of training. */
export type ToldOfTraining =
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
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "file"; readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> };

/** A run that this browser keeps. */
export interface KeptRun {
  /** What it was begun with. */
  readonly preset: string;
  /** Of its newest checkpoint. */
  readonly step: number;
  readonly total: number;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly saved: number;
}
