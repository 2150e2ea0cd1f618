/** What a run's state means and allows. */

/**
 * @import { Run, RunState } from "../contract.ts"
 */

/** @typedef {"pause" | "go-on" | "checkpoint" | "stop" | "kill" | "resume" | "delete"} Action */

/** @type {Readonly<Record<RunState, { label: string, tone: string, actions: readonly Action[] }>>} */
const STATES = {
  waiting: { label: "waiting", tone: "quiet", actions: ["kill"] },
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
  return STATES[state].actions.includes("kill") && state !== "waiting";
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
export function describeSteps({ step, totalSteps }) {
  return totalSteps === 0 ? `step ${step}` : `step ${step} of ${totalSteps}`;
}
