import { listCheckpoints } from "../../run/store/checkpoint.ts";
import type { PolicyName } from "../../rl/policy.ts";
import { RequestProblem } from "../http/problem.ts";
import type { ListedRun, RunList } from "../runs/run_list.ts";

/** What a checkpoint of a `train` has of a policy. */
export interface NamedCheckpoint {
  readonly run: ListedRun;
  readonly policy: PolicyName;
  readonly step: number;
}

/**
 * The checkpoint that a name such as `RUN/generator@40` stands for; null where it is no such name of a run that is here.
 *
 * @throws RequestProblem when its run has no such checkpoint, or is a fine-tuning
 */
export function checkpointOf(name: string, list: RunList): NamedCheckpoint | null {
  const [, id, policy, step] = /^(.+)\/(generator|verifier)@(\d{1,13})$/.exec(name) ?? [];
  const run = id === undefined ? null : list.find(id);
  if (run === null) return null;
  if (run.kind !== "train") {
    throw new RequestProblem(
      422,
      `${id} is no run of train: what a fine-tuning has learned lies in its folder when it has ended.`,
      "model",
    );
  }
  const steps = listCheckpoints(run.folder.checkpoints).map((one) => one.step);
  if (steps.includes(Number(step))) {
    return { run, policy: policy as PolicyName, step: Number(step) };
  }
  throw new RequestProblem(
    404,
    `${id} has no checkpoint of step ${step}: it has ${steps.join(", ") || "none"}.`,
    "model",
  );
}
