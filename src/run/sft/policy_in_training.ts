import type { Communicator } from "../../distributed/communicator.ts";
import { onEveryRank } from "../../distributed/placed.ts";
import { Sampler } from "../../engine/sampling/sampler.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import type { Policy } from "../../rl/policy.ts";
import { SampledAhead } from "../../rl/sampled_ahead.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";

/** The model that is fine-tuned, as a policy with some prompt. */
export type PolicyInTraining = <Template>(template: Template) => Policy<Template>;

/** Lets a model that is fine-tuned be sampled from, on every rank. */
export function policyInTraining(
  { max_response_length, decode_slots: slots }: SftConfig,
  { model, tokenizer, stopTokens }: LoadedModel,
  ranks: Communicator,
): PolicyInTraining {
  const sampler = new Sampler(model, { slots, stepsBetweenReadbacks: 16 });
  const ahead = new SampledAhead();
  const engine = onEveryRank(ranks, {
    model,
    sampler,
    trainer: null,
    ahead,
    reference: null,
    hostReference: null,
  });
  const { config, parameterCount } = model;
  return (template) => ({
    ...{ tokenizer, template, stopTokens, config, parameterCount, engine },
    ...{ maximumResponse: max_response_length, maximumPrompt: null, isTrained: true },
  });
}
