/**
 * The parts of a training step: solutions are sampled, judged, perhaps gone on with from the ends of their steps, and
 * learned from. Learning has parts itself: each mini-batch's gradient, and the optimizer's step with it.
 */
export type StepPhase =
  | "rollout"
  | "verification"
  | "continuation"
  | "update"
  | "forward_backward"
  | "optimizer";

/** Runs a part of a step and tells whoever watches when it begins and ends. */
export type DuringPhase = <Result>(
  phase: StepPhase,
  body: () => Promise<Result>,
) => Promise<Result>;

/** Runs a part of a step and tells nobody. */
export const unwatched: DuringPhase = (_phase, body) => body();
