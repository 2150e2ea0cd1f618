import type { Gpu } from "../../gpu/gpu.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { openPolicies, type Policies, releasePolicies } from "../tango/policies.ts";
import { type MemoryPlan, rehearsePhases, residentUses } from "./memory_plan.ts";
import { type PromptLengths, rehearseSampling } from "./rehearsed_sampling.ts";

/** The prompts of an evaluation; null for a policy that is not sampled. */
export interface EvaluatedPrompts {
  /** How many problems there are, at least one. */
  readonly count: number;
  readonly generator: PromptLengths | null;
  readonly verifier: PromptLengths | null;
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
      responses: number,
    ) =>
      policy && lengths
        ? [{
          what,
          run: () =>
            rehearseSampling(config, policy, lengths, [{ prompts: prompts.count, responses }]),
        }]
        : [];
    return await rehearsePhases(rehearsal, resident, [
      ...phase("sampling solutions", generator, prompts.generator, verifier ? 1 : samples),
      ...phase("sampling critiques", verifier, prompts.verifier, samples),
    ]);
  } finally {
    releasePolicies(policies);
  }
}
