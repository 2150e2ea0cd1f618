import type { Gpu } from "../../gpu/gpu.ts";
import {
  FrozenBases,
  loadModel,
  loadModelFolder,
  type LoadOptions,
} from "../../model/weights/model_folder.ts";
import { Sampler } from "../../engine/sampling/sampler.ts";
import { ChatTemplate } from "../../model/tokenizer/chat_template.ts";
import { Trainer } from "../../engine/training/trainer.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import type { Policy } from "../../rl/policy.ts";
import {
  type GeneratorTemplate,
  generatorTemplate,
  inConversation,
  type Prompt,
  type VerifierTemplate,
  verifierTemplate,
} from "../../rl/prompt_template.ts";
import { promptRoom } from "../../rl/verifier_prompt.ts";
import type { PromptFit } from "../problems/problems.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { trainerOptions } from "../config/loss_options.ts";
import { frozenStorage } from "../config/frozen_storage.ts";

/** What a configuration says of one policy; only a verifier's prompts have a limit of their own. */
type PolicyConfig = TangoConfig["generator"] & {
  readonly maximum_prompt_tokens?: number | null;
};

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
  const bases = new FrozenBases(frozenStorage(config.frozen_dtype));
  const opened: Policy<unknown>[] = [];
  const open = async <Variable extends string>(
    policy: PolicyConfig,
    trained: boolean,
    template: Prompt<Variable>,
    seed: number,
  ): Promise<Policy<Prompt<Variable>>> => {
    const made = await openPolicy(gpu, config, policy, { trained, seed, bases }, template);
    opened.push(made);
    return made;
  };
  try {
    return {
      generator: await open(
        generator,
        !frozen,
        generatorTemplate(generator.prompt_template),
        config.seed,
      ),
      verifier: verifier && await open(
        verifier,
        verifier.trained && !frozen,
        verifierTemplate(verifier.prompt_template),
        config.seed + 1,
      ),
    };
  } catch (error) {
    opened.forEach(releasePolicy);
    throw error;
  } finally {
    // The policies that use them keep them.
    bases.release();
  }
}

/** Tells which questions can be asked and their solutions judged within the models' positions. */
export function promptFitOf({ generator, verifier }: Policies): PromptFit {
  const answer = generator.maximumResponse;
  const fits = ({ model, maximumResponse }: Policy<unknown>, prompt: number) =>
    prompt + maximumResponse <= model.config.maxPositions;
  return (question, maximumTokens) => {
    const asked = generator.tokenizer.encode(generator.template.render({ question })).length;
    if (asked > maximumTokens || !fits(generator, asked)) return false;
    if (verifier === null) return true;
    const template = verifier.template.render({ question, solution: "", steps: 9 });
    const judged = verifier.tokenizer.encode(template).length;
    return judged <= promptRoom(verifier) && fits(verifier, judged + answer);
  };
}

/** Returns the GPU memory of both policies. */
export function releasePolicies({ generator, verifier }: Policies): void {
  releasePolicy(generator);
  if (verifier) releasePolicy(verifier);
}

function releasePolicy({ sampler, trainer, reference, model }: Policy<unknown>): void {
  sampler.close();
  trainer?.release();
  reference?.release();
  model.release();
}

/** How a configuration says prompts to a model. */
export type Prompting = Pick<TangoConfig["generator"], "model" | "chat" | "system_prompt">;

/**
 * The prompt as the model is to see it, plain or in its chat template, and the token that then ends a
 * response besides the model's own stop tokens, if any.
 *
 * @throws UserError when `chat` asks for a template that the model has not
 */
export function promptOf<Variable extends string>(
  { model, chat, system_prompt }: Prompting,
  template: Prompt<Variable>,
  tokenizer: Tokenizer,
): { prompt: Prompt<Variable>; turnEnd: number | null } {
  if (!chat) return { prompt: template, turnEnd: null };
  const chatTemplate = new ChatTemplate(tokenizer, model);
  const prompt = inConversation(template, chatTemplate, system_prompt);
  return { prompt, turnEnd: chatTemplate.turnEnd() };
}

async function openPolicy<Variable extends string>(
  gpu: Gpu,
  config: TangoConfig,
  policy: PolicyConfig,
  options: LoadOptions & { readonly bases: FrozenBases },
  template: Prompt<Variable>,
): Promise<Policy<Prompt<Variable>>> {
  const { rollout, loss } = config;
  const { trained, bases } = options;
  const loaded = await loadModelFolder(gpu, policy.model, {
    ...options,
    lora: trained ? policy.lora : null,
  });
  const { model, tokenizer } = loaded;
  let trainer: Trainer | null = null;
  try {
    const { prompt, turnEnd } = promptOf(policy, template, tokenizer);
    if (trained) trainer = new Trainer(model, trainerOptions(config));
    return {
      model,
      tokenizer,
      template: prompt,
      stopTokens: withTurnEnd(loaded.stopTokens, turnEnd),
      maximumResponse: policy.max_response_length,
      maximumPrompt: policy.maximum_prompt_tokens ?? null,
      sampler: new Sampler(model, {
        slots: rollout.decode_slots,
        stepsBetweenReadbacks: rollout.steps_between_readbacks,
      }),
      trainer,
      reference: trained && loss.kl_coefficient > 0
        ? await loadModel(gpu, policy.model, { trained: false, bases })
        : null,
    };
  } catch (error) {
    trainer?.release();
    model.release();
    throw error;
  }
}
