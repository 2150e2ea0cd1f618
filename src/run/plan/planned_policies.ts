import type { Gpu } from "../../gpu/gpu.ts";
import type { Policy } from "../../rl/policy.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { mean } from "../../base/statistics.ts";
import { UserError } from "../../base/user_error.ts";
import type { Problems } from "../problems/problems.ts";
import { openProblems, requirementsOf } from "../problems/open_problems.ts";
import { openPolicies, promptFitOf, releasePolicies } from "../tango/policies.ts";
import type { PlannedRun } from "./planned_run.ts";
import { type PolicyWork, rehearseWork } from "./rehearsed_work.ts";
import type { ResponseLengths } from "./response_lengths.ts";

/** Means of responses. */
export interface MeanResponses {
  /** Tokens; absent: half of the longest. */
  readonly solution?: number;
  readonly critique?: number;
  /** Steps in a solution; absent: as many as the problems need, or where that is not known the configured least. */
  readonly steps?: number;
}

/** Problems whose prompts are measured. */
const problemsLookedAt = 512;

/**
 * The facts that a run's cost depends on, from the files that its configuration names.
 *
 * @param gpu a rehearsal; nothing is computed
 * @throws UserError when a file is missing or unsound
 */
export async function planRun(
  gpu: Gpu,
  config: TangoConfig,
  means: MeanResponses,
): Promise<PlannedRun> {
  const { verifier: judge } = config;
  if (judge !== null && judge.kind !== "generative") {
    throw new UserError(
      `verifier.kind is ${judge.kind}; a plan is of runs whose verifier writes critiques (or has none).`,
    );
  }
  // Wherever they will lie, both are looked at here.
  const policies = await openPolicies(gpu, { ...config, placement: null });
  try {
    const { generator, verifier } = policies;
    using problems = await openProblems(config, promptFitOf(policies), requirementsOf(config));
    const questions = problems.questions(problemsLookedAt);
    const meanTokens = (policy: Policy<unknown>, prompts: readonly string[]) =>
      prompts.reduce((sum, text) => sum + policy.tokenizer.encode(text).length, 0) / prompts.length;
    const asked = questions.map((question) => generator.template.render({ question }));
    const judged = verifier
      ? questions.map((question) => verifier.template.render({ question, solution: "", steps: 9 }))
      : [];
    return {
      config,
      generator: await policyWork(generator),
      verifier: verifier && await policyWork(verifier),
      lengths: {
        problem: Math.round(meanTokens(generator, asked)),
        judgment: verifier ? Math.round(meanTokens(verifier, judged)) : 0,
        solution: lengthsOf(generator, means.solution),
        critique: verifier ? lengthsOf(verifier, means.critique) : { mean: 1, maximum: 1 },
        steps: means.steps ?? neededSteps(problems) ?? Math.max(1, config.rewards.minimum_steps),
      },
      heldOut: config.evaluation.problems ?? problems.heldOut("test").length,
    };
  } finally {
    releasePolicies(policies);
  }
}

/** Mean over the held-out problems; null where they do not know. */
function neededSteps(problems: Problems): number | null {
  const { source } = problems;
  if (!source.neededSteps) return null;
  return mean(problems.heldOut("test").map((problem) => source.neededSteps?.(problem) ?? 0));
}

function lengthsOf({ maximumResponse: maximum }: Policy<unknown>, mean?: number): ResponseLengths {
  return { mean: mean ?? (maximum + 1) / 2, maximum };
}

function policyWork({ engine: { here } }: Policy<unknown>): Promise<PolicyWork> {
  if (here === null) throw new Error("a policy is planned where it is");
  return rehearseWork(here);
}
