/** Events that a run tells about itself: plain data, one type for each thing that can happen. */

import type { StepPhase } from "../../rl/schedule/step_phase.ts";
import type { Settings } from "../config/changeable.ts";
import type { RecordLine } from "../store/audit_log.ts";
import type { Metrics, Phase } from "../store/metrics_log.ts";
import type { DeviceFacts } from "../store/run_device.ts";
import type { Sample } from "../store/samples_log.ts";
import type { Activity } from "../store/timeline_log.ts";

/** The phases of a run, between two of its steps or within one. */
export type RunPhase = StepPhase | "evaluation" | "checkpoint";

/** The models are loaded and training begins after `step` of `total` steps. */
export interface StartedEvent {
  readonly type: "started";
  readonly step: number;
  readonly total: number;
  /** How many processes share the work from now on. */
  readonly ranks: number;
  /** What they compute on, the first of them. */
  readonly device?: DeviceFacts;
}

/** A phase begins, in the course of `step`. */
export interface PhaseBeganEvent {
  readonly type: "phaseBegan";
  readonly step: number;
  readonly phase: RunPhase;
}

/** A phase is over; not told of one that fails. */
export interface PhaseEndedEvent {
  readonly type: "phaseEnded";
  readonly step: number;
  readonly phase: RunPhase;
  readonly seconds: number;
}

/** A training step is done. */
export interface StepEvent {
  readonly type: "step";
  readonly step: number;
  /** Which policy it trained. */
  readonly phase: Exclude<Phase, "evaluation">;
  /** Metrics that depend on the configuration alone; the same in every run of it. */
  readonly metrics: Metrics;
  /** `perf/…` and whatever else depends on the clock. */
  readonly timings: Metrics;
}

/** The policies were measured on held-out problems. */
export interface EvaluationEvent {
  readonly type: "evaluation";
  readonly step: number;
  readonly metrics: Metrics;
}

/** Texts that a step or an evaluation was made of. */
export interface SamplesEvent {
  readonly type: "samples";
  readonly step: number;
  readonly samples: readonly Sample[];
}

/** What a step, an evaluation or the weights came from, as digests, and the chain of all of them so far. */
export interface RecordEvent extends RecordLine {
  readonly type: "record";
}

/** Activity of each rank in a step and after it; the first rank tells it, after the step or with the next one. */
export interface ActivityEvent {
  readonly type: "activity";
  readonly step: number;
  readonly ranks: readonly (readonly Activity[])[];
}

/** A checkpoint is on the disk. */
export interface CheckpointEvent {
  readonly type: "checkpoint";
  readonly step: number;
  readonly path: string;
}

/** Settings change; they hold from this step on, which is about to begin. */
export interface ChangedEvent {
  readonly type: "changed";
  readonly step: number;
  readonly settings: Settings;
}

/** The run waits after `step`, or goes on with the next. */
export interface PauseEvent {
  readonly type: "paused" | "continued";
  readonly step: number;
}

/** Something is not as it should be, and the run goes on. */
export interface WarningEvent {
  readonly type: "warning";
  readonly step: number;
  /** A single line of text. */
  readonly message: string;
}

/** The run came to its end, or stopped because it was asked to; all that it leaves behind is written. */
export interface FinishedEvent {
  readonly type: "finished";
  readonly step: number;
  /** Whether no step is left. */
  readonly reachedEnd: boolean;
}

/** An error ended the run; it is thrown too. */
export interface FailedEvent {
  readonly type: "failed";
  /** Steps done. */
  readonly step: number;
  readonly error: unknown;
}

/** In a comparison: the events that follow are of this run. */
export interface ComparedRunEvent {
  readonly type: "comparedRun";
  readonly method: string;
  readonly seed: number;
  /** Folder of the run. */
  readonly path: string;
  /** Place of the run among all, counted from 1. */
  readonly number: number;
  readonly total: number;
}

/** In a comparison: it came to its end, or stopped because it was asked to. */
export interface ComparisonEndedEvent {
  readonly type: "comparisonEnded";
  /** Whether all its runs are finished. */
  readonly isDone: boolean;
}

/** Anything that a run tells. */
export type RunEvent =
  | StartedEvent
  | PhaseBeganEvent
  | PhaseEndedEvent
  | StepEvent
  | EvaluationEvent
  | SamplesEvent
  | RecordEvent
  | ActivityEvent
  | CheckpointEvent
  | ChangedEvent
  | PauseEvent
  | WarningEvent
  | FinishedEvent
  | FailedEvent
  | ComparedRunEvent
  | ComparisonEndedEvent;

/** Hears what a run tells, in order and at once: the run waits until it returns. */
export type RunListener = (event: RunEvent) => void;
