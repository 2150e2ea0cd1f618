import { type FailureReason, reasonOf } from "../../base/failure_reason.ts";
import type {
  ChangedEvent,
  CheckpointEvent,
  ComparedRunEvent,
  ComparisonEndedEvent,
  FinishedEvent,
  PauseEvent,
  PhaseBeganEvent,
  PhaseEndedEvent,
  RunEvent,
  StartedEvent,
  StepEvent,
  WarningEvent,
} from "./run_event.ts";

/**
 * An event as a line of events.jsonl has it: what was measured, written and done when lies in logs of its own, and an
 * error is its message.
 */
export type ToldEvent =
  | StartedEvent
  | PhaseBeganEvent
  | PhaseEndedEvent
  | Pick<StepEvent, "type" | "step" | "phase">
  | { readonly type: "evaluation"; readonly step: number }
  | CheckpointEvent
  | ChangedEvent
  | PauseEvent
  | WarningEvent
  | FinishedEvent
  | FailedLine
  | ComparedRunLine
  | ComparisonEndedEvent;

interface FailedLine {
  readonly type: "failed";
  readonly step: number;
  readonly message: string;
  /** Left out where the error does not say. */
  readonly reason?: FailureReason;
}

/** The event with `place` for its `number`, which is the line's own. */
type ComparedRunLine = Omit<ComparedRunEvent, "number"> & {
  /** Place of the run among all of the comparison, counted from 1. */
  readonly place: number;
};

/** A line of events.jsonl. */
export type EventLine = ToldEvent & {
  /** Number of the line, counted from 1, before and after a run is resumed. */
  readonly number: number;
  /** ISO 8601, UTC. */
  readonly time: string;
};

/** An event as events.jsonl holds it; null when it is not written. */
export function toldEvent(event: RunEvent): ToldEvent | null {
  switch (event.type) {
    case "samples":
    case "record":
    case "activity":
      return null;
    case "step":
      return { type: event.type, step: event.step, phase: event.phase };
    case "evaluation":
      return { type: event.type, step: event.step };
    case "failed": {
      const { type, step, error } = event;
      const message = error instanceof Error ? error.message : String(error);
      const reason = reasonOf(error);
      return { type, step, message, ...(reason === null ? {} : { reason }) };
    }
    case "comparedRun": {
      const { number: place, ...run } = event;
      return { ...run, place };
    }
    default:
      return event;
  }
}
