import { basename } from "node:path";
import type { FailureReason } from "../../base/failure_reason.ts";
import type { EventLine } from "../../run/events/told_event.ts";

/** How far a run is by what it told. */
export interface Progress {
  /** What the last words were about. */
  readonly told: "nothing" | "running" | "paused" | "stopped" | "finished" | "failed";
  /** Steps done; of a comparison, runs. */
  readonly step: number;
  readonly totalSteps: number;
  readonly phase: string | null;
  /** Processes that share the work of the present part; null when it has not said. */
  readonly ranks: number | null;
  /** ISO 8601; of the first event of all. */
  readonly startedAt: string | null;
  /** Of the last word of a run that has ended. */
  readonly endedAt: string | null;
  readonly error: string | null;
  readonly reason: FailureReason | null;
  /** Where the present part began, for a resumed run begins anew: its own pace says when it will be done. */
  readonly part: PartProgress | null;
  /** Of a comparison: the folder within its own of the run that it did last. */
  readonly comparedRun: string | null;
}

interface PartProgress {
  readonly startedAt: string;
  /** When its first training step began: what a run measures before says nothing of its pace. */
  readonly trainsSince: string | null;
  readonly firstStep: number;
  /** When the last step was done. */
  readonly steppedAt: string | null;
  readonly pausedAt: string | null;
  /** Spent waiting, since `trainsSince`. */
  readonly pausedSeconds: number;
  /** That of it which was before `steppedAt`. */
  readonly pausedBefore: number;
  /** In a comparison one run ends after another. */
  readonly isCompared: boolean;
}

export const UNTOLD: Progress = {
  told: "nothing",
  step: 0,
  totalSteps: 0,
  phase: null,
  ranks: null,
  startedAt: null,
  endedAt: null,
  error: null,
  reason: null,
  part: null,
  comparedRun: null,
};

/** What is known after another event. */
export function progressAfter(before: Progress, event: EventLine): Progress {
  const { part, startedAt } = before;
  const { time } = event;
  const now: Progress = { ...before, startedAt: startedAt ?? time };
  switch (event.type) {
    case "comparedRun":
      return {
        ...now,
        ...going,
        step: event.place - 1,
        totalSteps: event.total,
        part: newPart(time, event.place - 1, true),
        comparedRun: basename(event.path),
      };
    case "started": {
      const { step, total: totalSteps, ranks = null } = event;
      if (part?.isCompared) return { ...now, ranks };
      return { ...now, ...going, step, totalSteps, ranks, part: newPart(time, step, false) };
    }
    case "phaseBegan": {
      const isTraining = event.phase !== "evaluation" && event.phase !== "checkpoint";
      const trainsSince = part?.trainsSince ??
        (isTraining && part?.steppedAt == null ? time : null);
      return { ...now, phase: event.phase, part: part && { ...part, trainsSince } };
    }
    case "phaseEnded":
      return { ...now, phase: null };
    case "step":
      return {
        ...now,
        step: part?.isCompared ? now.step : event.step,
        part: part && { ...part, steppedAt: time, pausedBefore: part.pausedSeconds },
      };
    case "paused":
      return { ...now, told: "paused", part: part && { ...part, pausedAt: time } };
    case "continued": {
      if (part?.pausedAt == null) return { ...now, told: "running" };
      const pausedSeconds = part.pausedSeconds + secondsBetween(part.pausedAt, time);
      return { ...now, told: "running", part: { ...part, pausedAt: null, pausedSeconds } };
    }
    case "finished":
      if (part?.isCompared) return now;
      return { ...now, ...ended(event.reachedEnd ? "finished" : "stopped", time) };
    case "comparisonEnded":
      return {
        ...now,
        ...ended(event.isDone ? "finished" : "stopped", time),
        step: event.isDone ? now.totalSteps : now.step,
      };
    case "failed":
      return {
        ...now,
        ...ended("failed", time),
        error: event.message,
        reason: event.reason ?? null,
      };
    default:
      return now;
  }
}

/**
 * Seconds to the last step at the pace of this part of the run, of which the present step has taken some already; null
 * while no step of it is done, and of a comparison, whose runs are unlike.
 *
 * @param at the present, ISO 8601
 */
export function secondsLeft(
  { told, step, totalSteps, part }: Progress,
  at = new Date().toISOString(),
): number | null {
  if (part?.steppedAt == null || part.isCompared || (told !== "running" && told !== "paused")) {
    return null;
  }
  const steps = step - part.firstStep;
  if (steps <= 0) return null;
  const since = part.trainsSince ?? part.startedAt;
  const pace = (secondsBetween(since, part.steppedAt) - part.pausedBefore) / steps;
  const waited = part.pausedSeconds - part.pausedBefore;
  const taken = secondsBetween(part.steppedAt, part.pausedAt ?? at) - waited;
  // A step that takes longer than the others is about to be done.
  return Math.max(0, pace * (totalSteps - step) - Math.min(pace, Math.max(0, taken)));
}

const going = { told: "running", phase: null, endedAt: null, error: null, reason: null } as const;

const ended = (told: "stopped" | "finished" | "failed", endedAt: string) =>
  ({ told, phase: null, endedAt }) as const;

function newPart(startedAt: string, firstStep: number, isCompared: boolean): PartProgress {
  return {
    startedAt,
    trainsSince: null,
    firstStep,
    steppedAt: null,
    pausedAt: null,
    pausedSeconds: 0,
    pausedBefore: 0,
    isCompared,
  };
}

function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000;
}
