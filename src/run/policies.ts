import type { Gpu } from "../gpu/gpu.ts";
import { loadModel, loadModelFolder } from "../model/model_folder.ts";
import { Optimizer } from "../model/optimizer.ts";
import type { Policy } from "../rl/policy.ts";
import {
  type GeneratorTemplate,
  generatorTemplate,
  type VerifierTemplate,
  verifierTemplate,
} from "../rl/prompt_template.ts";
import type { TangoConfig } from "./config_schema.ts";

/** The two policies of a run. */
export interface Policies {
  readonly generator: Policy<GeneratorTemplate>;
  /** Null for the baseline without a verifier. */
  readonly verifier: Policy<VerifierTemplate> | null;
}

/**
 * Loads what the configuration names onto the GPU, with references where a KL term needs them.
 *
 * @param options `frozen` loads both for measuring only, without what training needs
 * @throws UserError when a file is missing or unsound
 */
export async function openPolicies(
  gpu: Gpu,
  config: TangoConfig,
  { frozen = false }: { readonly frozen?: boolean } = {},
): Promise<Policies> {
  const { generator, verifier } = config;
  const template = generatorTemplate(generator.prompt_template);
  return {
    generator: await open(gpu, config, generator, !frozen, template),
    verifier: verifier && await open(
      gpu,
      config,
      verifier,
      verifier.trained && !frozen,
      verifierTemplate(verifier.prompt_template),
    ),
  };
}

/** Returns the GPU memory of both policies. */
export function releasePolicies({ generator, verifier }: Policies): void {
  for (const policy of [generator, verifier]) {
    policy?.optimizer?.release();
    policy?.reference?.release();
    policy?.model.release();
  }
}

async function open<Template>(
  gpu: Gpu,
  { rollout, loss }: TangoConfig,
  policy: TangoConfig["generator"],
  trained: boolean,
  template: Template,
): Promise<Policy<Template>> {
  const { model, tokenizer, stopTokens } = await loadModelFolder(gpu, policy.model, { trained });
  const { betas, epsilon, weight_decay, max_gradient_norm } = policy.optimizer;
  return {
    model,
    tokenizer,
    template,
    stopTokens,
    maximumResponse: policy.max_response_length,
    slots: rollout.decode_slots,
    stepsBetweenReadbacks: rollout.steps_between_readbacks,
    optimizer: trained
      ? new Optimizer(model, {
        beta1: betas[0],
        beta2: betas[1],
        epsilon,
        weightDecay: weight_decay,
        maxGradientNorm: max_gradient_norm,
      })
      : null,
    reference: trained && loss.kl_coefficient > 0
      ? await loadModel(gpu, policy.model, { trained: false })
      : null,
  };
}
