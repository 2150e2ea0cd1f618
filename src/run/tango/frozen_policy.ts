import { alone } from "../../distributed/communicator.ts";
import { onEveryRank } from "../../distributed/placed.ts";
import { Sampler } from "../../engine/sampling/sampler.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import { loadModelFolder } from "../../model/weights/model_folder.ts";
import type { Policy, PolicyName } from "../../rl/policy.ts";
import type { Prompt } from "../../rl/prompt_template.ts";
import { SampledAhead } from "../../rl/sampled_ahead.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { expectCritiques } from "../config/expect_critiques.ts";
import { frozenStorage } from "../config/frozen_storage.ts";
import type { StoredCheckpoint } from "../store/stored_checkpoint.ts";
import { loadPolicy, policyOf } from "./load_policy.ts";
import { promptOf } from "./policies.ts";

/**
 * One policy of a run, prompted as there, to be sampled by this process alone. Release it with `releasePolicy`.
 *
 * @param checkpoint whose weights it has; null: those that the run began with
 * @throws UserError when the run has no such policy, or a verifier that writes nothing, or its files are missing or unsound
 */
export async function openFrozenPolicy<Variable extends string>(
  gpu: Gpu,
  config: TangoConfig,
  name: PolicyName,
  template: (file: string) => Prompt<Variable>,
  checkpoint: StoredCheckpoint | null,
): Promise<Policy<Prompt<Variable>>> {
  const policy = policyOf(config, name);
  if (name === "verifier") expectCritiques(config);
  const loaded = checkpoint === null
    ? await loadModelFolder(gpu, policy.model, {
      trained: false,
      storage: frozenStorage(config.frozen_dtype),
    })
    : await loadPolicy(gpu, config, name, checkpoint);
  const { model, tokenizer } = loaded;
  try {
    const { prompt, turnEnd } = promptOf(policy, template(policy.prompt_template), tokenizer);
    const { decode_slots: slots, steps_between_readbacks: stepsBetweenReadbacks } = config.rollout;
    return {
      tokenizer,
      template: prompt,
      stopTokens: withTurnEnd(loaded.stopTokens, turnEnd),
      maximumResponse: policy.max_response_length,
      maximumPrompt: name === "verifier" ? config.verifier?.maximum_prompt_tokens ?? null : null,
      config: model.config,
      parameterCount: model.parameterCount,
      isTrained: false,
      engine: onEveryRank(alone, {
        model,
        sampler: new Sampler(model, { slots, stepsBetweenReadbacks, tokenizer }),
        trainer: null,
        ahead: new SampledAhead(),
        reference: null,
        hostReference: null,
      }),
    };
  } catch (error) {
    model.release();
    throw error;
  }
}
