import type { Gpu } from "../../gpu/gpu.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { openPolicies, type Policies, releasePolicies } from "../tango/policies.ts";
import { type MemoryPlan, rehearsePhases, residentUses } from "./memory_plan.ts";
import { verdictNeighbours } from "../../rl/solution_quality.ts";
import { rewardModelPhases } from "./reward_model_memory.ts";
import { type PromptLengths, rehearseSampling, type Rollout } from "./rehearsed_sampling.ts";

/** The prompts of an evaluation; null for a policy that is not sampled. */
export interface EvaluatedPrompts {
  /** How many problems there are, at least one. */
  readonly count: number;
  readonly generator: PromptLengths | null;
  readonly verifier: PromptLengths | null;
  /** Critiques of each of a problem's samples, where the verifier chooses among them. */
  readonly critiques?: number;
  /** Whether samples are rewritten then, each from an end of its own. */
  readonly rewrites?: boolean;
}

/**
 * GPU memory of measuring frozen policies when every response is as long as it may be.
 *
 * @param promptsOf tells the prompts, given policies that can only be asked for their prompts
 * @throws UserError when one of its buffers is larger than the device binds
 */
export async function planEvaluationMemory(
  gpu: Gpu,
  config: TangoConfig,
  promptsOf: (policies: Policies) => Promise<EvaluatedPrompts>,
): Promise<MemoryPlan> {
  const rehearsal = gpu.rehearsal();
  const policies = await openPolicies(rehearsal, config, { frozen: true });
  try {
    const { generator, verifier } = policies;
    const prompts = await promptsOf(policies);
    const resident = residentUses([
      { name: "generator", ...generator.engine.here },
      { name: "verifier", ...verifier?.engine.here },
    ]);
    const { samples } = config.evaluation;
    const phase = (
      what: string,
      policy: typeof generator | typeof verifier,
      lengths: PromptLengths | null,
      rollout: Rollout,
      likeliest = 0,
    ) =>
      policy && lengths
        ? [{ what, run: () => rehearseSampling(config, policy, lengths, [rollout], likeliest) }]
        : [];
    const { count, critiques, rewrites = false } = prompts;
    const solutions = (responses: number) =>
      phase("sampling solutions", generator, prompts.generator, { prompts: count, responses });
    // What is kept of a solution is a prompt, and at most all but one of the tokens that it may have.
    const rewriting = (lengths: PromptLengths) =>
      phase(
        "rewriting solutions",
        { ...generator, maximumResponse: 1 },
        { ...lengths, longest: lengths.longest + generator.maximumResponse - 1 },
        { prompts: count * samples, responses: 1 },
      );
    const kind = config.verifier?.kind ?? "generative";
    if (kind !== "generative") {
      const read = kind === "implicit" ? prompts.generator : prompts.verifier;
      return await rehearsePhases(rehearsal, resident, [
        ...solutions(critiques === undefined ? 1 : samples),
        ...(read ? rewardModelPhases(config, policies, read) : []),
      ]);
    }
    if (critiques !== undefined && verifier !== null) {
      const judged = { prompts: count * samples, responses: critiques, toQuestion: samples };
      return await rehearsePhases(rehearsal, resident, [
        ...solutions(samples),
        ...phase(
          "sampling critiques",
          verifier,
          prompts.verifier,
          judged,
          verdictNeighbours(verifier),
        ),
        ...(rewrites && prompts.generator ? rewriting(prompts.generator) : []),
      ]);
    }
    return await rehearsePhases(rehearsal, resident, [
      ...solutions(verifier ? 1 : samples),
      ...phase("sampling critiques", verifier, prompts.verifier, {
        ...{ prompts: count, responses: samples },
      }),
    ]);
  } finally {
    releasePolicies(policies);
  }
}
