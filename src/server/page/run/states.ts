/** What a run's state means and allows. */

import type { RunView } from "../../runs/run_view.ts";

export type Action =
  | "leave"
  | "pause"
  | "go-on"
  | "checkpoint"
  | "stop"
  | "kill"
  | "resume"
  | "delete";

const STATES: Readonly<
  Record<RunView["state"], { tone: string; actions: readonly Action[] }>
> = {
  waiting: { tone: "quiet", actions: ["leave"] },
  starting: { tone: "busy", actions: ["kill"] },
  running: { tone: "good", actions: ["pause", "checkpoint", "stop", "kill"] },
  paused: { tone: "warm", actions: ["go-on", "checkpoint", "stop", "kill"] },
  stopping: { tone: "busy", actions: ["kill"] },
  stopped: { tone: "quiet", actions: ["resume", "delete"] },
  finished: { tone: "quiet", actions: ["delete"] },
  failed: { tone: "bad", actions: ["resume", "delete"] },
  killed: { tone: "bad", actions: ["resume", "delete"] },
  lost: { tone: "bad", actions: ["resume", "delete"] },
};

/** What its colour says. */
export function toneOf(state: RunView["state"]) {
  return STATES[state].tone;
}

/** Whether its process lives. */
export function isLive(state: RunView["state"]) {
  return STATES[state].actions.includes("kill");
}

/**
 * Whether a run ever began: one that only waited, or failed before its first word, has nothing to show and cannot
 * be gone on with.
 */
export function hasBegun({ state, step, totalSteps }: RunView) {
  return step > 0 || totalSteps > 0 ||
    !["waiting", "starting", "failed", "killed", "lost"].includes(state);
}

/** What can be done with a run. */
export function actionsOf(run: RunView): Action[] {
  // It is steered with all runs of its comparison.
  if (run.comparison !== null) return [];
  return STATES[run.state].actions.filter((action) => action !== "resume" || hasBegun(run));
}

/** The share of its steps that a run has done, 0 to 1. */
export function progressOf({ step, totalSteps }: RunView) {
  return totalSteps === 0 ? 0 : Math.min(1, step / totalSteps);
}

/** Where a run is. */
export function describeSteps({ kind, step, totalSteps }: RunView) {
  if (kind === "compare") return `${step} of ${totalSteps} runs done`;
  return totalSteps === 0 ? `step ${step}` : `step ${step} of ${totalSteps}`;
}
