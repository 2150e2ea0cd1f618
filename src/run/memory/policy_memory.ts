/** GPU memory of sampling from one policy after the other. */

import type { Gpu } from "../../gpu/gpu.ts";
import type { Policy } from "../../rl/policy.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { checkMemory } from "./memory_check.ts";
import { rehearsePhases, residentUses } from "./memory_plan.ts";
import { type PromptLengths, rehearseSampling, type Rollout } from "./rehearsed_sampling.ts";
import { evaluationShrinks } from "./tango_shrinks.ts";
import { releasePolicy } from "../tango/policies.ts";

/** What is sampled from a policy. */
export interface PolicySampling<Template> {
  /** Opens the policy on a GPU that may have no memory. */
  readonly open: (gpu: Gpu, config: TangoConfig) => Promise<Policy<Template>>;
  readonly lengths: (policy: Policy<Template>) => PromptLengths;
  /** One after the other. */
  readonly rollouts: readonly Rollout[];
}

/**
 * Plans what sampling from a policy takes when every response is as long as it may be, and holds the GPU to it.
 *
 * @throws UserError naming settings that would fit when it does not
 */
export async function checkPolicyMemory<Template>(
  gpu: Gpu,
  config: TangoConfig,
  { open, lengths, rollouts }: PolicySampling<Template>,
): Promise<void> {
  await checkMemory(gpu, {
    config,
    limit: config.memory_limit_gb,
    plan: async (changed) => {
      const rehearsal = gpu.rehearsal();
      const policy = await open(rehearsal, changed);
      try {
        const resident = residentUses([{ name: "policy", ...policy.engine.here }]);
        const run = () => rehearseSampling(changed, policy, lengths(policy), rollouts);
        return await rehearsePhases(rehearsal, resident, [{ what: "sampling", run }]);
      } finally {
        releasePolicy(policy);
      }
    },
    shrinks: evaluationShrinks,
  });
}
