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
  Record<RunView["state"], { label: string; tone: string; actions: readonly Action[] }>
> = {
  waiting: { label: "waiting", tone: "quiet", actions: ["leave"] },
  starting: { label: "starting", tone: "busy", actions: ["kill"] },
  running: { label: "running", tone: "good", actions: ["pause", "checkpoint", "stop", "kill"] },
  paused: { label: "paused", tone: "warm", actions: ["go-on", "checkpoint", "stop", "kill"] },
  stopping: { label: "stopping", tone: "busy", actions: ["kill"] },
  stopped: { label: "stopped", tone: "quiet", actions: ["resume", "delete"] },
  finished: { label: "finished", tone: "quiet", actions: ["delete"] },
  failed: { label: "failed", tone: "bad", actions: ["resume", "delete"] },
  killed: { label: "killed", tone: "bad", actions: ["resume", "delete"] },
  lost: { label: "lost", tone: "bad", actions: ["resume", "delete"] },
};

export function describeState(state: RunView["state"]) {
  return STATES[state];
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
