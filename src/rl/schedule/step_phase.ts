/** The parts of a training step: solutions are sampled, judged, and learned from. */
export type StepPhase = "rollout" | "verification" | "update";

/** Runs a part of a step and tells whoever watches when it begins and ends. */
export type DuringPhase = <Result>(
  phase: StepPhase,
  body: () => Promise<Result>,
) => Promise<Result>;
