/** What a run's state means and allows. */

/**
 * @import { Run, RunState } from "../contract.ts"
 */

/** @typedef {"leave" | "pause" | "go-on" | "checkpoint" | "stop" | "kill" | "resume" | "delete"} Action */

/** @type {Readonly<Record<RunState, { label: string, tone: string, actions: readonly Action[] }>>} */
const STATES = {
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

/** @param {RunState} state */
export function describeState(state) {
  return STATES[state];
}

/**
 * Whether its process lives.
 *
 * @param {RunState} state
 */
export function isLive(state) {
  return STATES[state].actions.includes("kill");
}

/**
 * Whether a run ever began: one that only waited, or failed before its first word, has nothing to show and cannot
 * be gone on with.
 *
 * @param {Run} run
 */
export function hasBegun({ state, step, totalSteps }) {
  return step > 0 || totalSteps > 0 ||
    !["waiting", "starting", "failed", "killed", "lost"].includes(state);
}

/**
 * What can be done with a run.
 *
 * @param {Run} run
 * @returns {Action[]}
 */
export function actionsOf(run) {
  // It is steered with all runs of its comparison.
  if (run.comparison !== null) return [];
  return STATES[run.state].actions.filter((action) => action !== "resume" || hasBegun(run));
}

/**
 * The share of its steps that a run has done, 0 to 1.
 *
 * @param {Run} run
 */
export function progressOf({ step, totalSteps }) {
  return totalSteps === 0 ? 0 : Math.min(1, step / totalSteps);
}

/**
 * Where a run is.
 *
 * @param {Run} run
 */
export function describeSteps({ kind, step, totalSteps }) {
  if (kind === "compare") return `${step} of ${totalSteps} runs done`;
  return totalSteps === 0 ? `step ${step}` : `step ${step} of ${totalSteps}`;
}
