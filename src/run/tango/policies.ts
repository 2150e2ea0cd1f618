import { alone, type Communicator } from "../../distributed/communicator.ts";
import { gradientReducer } from "../../distributed/gradient_reducer.ts";
import { holdersOf } from "../../distributed/placed.ts";
import { rehearsedRank } from "../../distributed/rehearsed_rank.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { HostReference } from "../../engine/training/host_reference.ts";
import type { Model } from "../../model/decoder/model.ts";
import {
  FrozenBases,
  type LoadedModel,
  loadModel,
  loadModelFolder,
} from "../../model/weights/model_folder.ts";
import { Sampler } from "../../engine/sampling/sampler.ts";
import { ChatTemplate } from "../../model/tokenizer/chat_template.ts";
import { Trainer } from "../../engine/training/trainer.ts";
import { UserError } from "../../base/user_error.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import type { Policy, PolicyEngine, PolicyName } from "../../rl/policy.ts";
import {
  type GeneratorTemplate,
  generatorTemplate,
  inConversation,
  type Prompt,
  type VerifierTemplate,
  verifierTemplate,
} from "../../rl/prompt_template.ts";
import { promptRoom } from "../../rl/verifier_prompt.ts";
import { verdictTokens } from "../../rl/outcome_model.ts";
import { SampledAhead } from "../../rl/sampled_ahead.ts";
import type { PromptFit } from "../problems/problems.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { klCoefficientOf, trainerOptions } from "../config/loss_options.ts";
import { placementOf } from "../config/placement.ts";
import { frozenStorage, trainedStorage } from "../config/frozen_storage.ts";
import { expectSameTokens } from "./reward_models.ts";

/** Configuration of a policy; only a verifier's prompts have a limit of their own. */
type PolicyConfig = TangoConfig["generator"] & {
  readonly maximum_prompt_tokens?: number | null;
};

/** The two policies of a run. */
export interface Policies {
  readonly generator: Policy<GeneratorTemplate>;
  /** Null for the baseline without a verifier. */
  readonly verifier: Policy<VerifierTemplate> | null;
}

/** How policies are opened. */
export interface PolicyOptions {
  /** Loads both for measuring only, without what training needs. */
  readonly frozen?: boolean;
  /** All ranks of the run; by default this process alone. */
  readonly ranks?: Communicator;
}

/**
 * Loads what the configuration names and places on this rank onto the GPU, with references where a KL term
 * needs them.
 *
 * @throws UserError when a file is missing or unsound, or there are not the ranks that it names
 */
export async function openPolicies(
  gpu: Gpu,
  config: TangoConfig,
  { frozen = false, ranks = alone }: PolicyOptions = {},
): Promise<Policies> {
  const { generator, verifier } = config;
  const placement = placementOf(config, ranks.size);
  const bases = new FrozenBases(frozenStorage(config.frozen_dtype));
  const opened: Policy<unknown>[] = [];
  const open = async <Variable extends string>(
    name: PolicyName,
    { policy, trained, template, seed, reference = null }: Opened<Variable>,
  ): Promise<Policy<Prompt<Variable>>> => {
    const place = { all: ranks, ranks: placement[name] };
    const load = { trained: trained && !frozen, seed, bases, reference };
    const made = await openPolicy(gpu, config, policy, load, place, template);
    opened.push(made);
    return made;
  };
  try {
    const policies = {
      generator: await open("generator", {
        policy: generator,
        trained: generator.trained,
        template: generatorTemplate(generator.prompt_template),
        seed: config.seed,
      }),
      verifier: verifier && await open("verifier", {
        policy: verifier,
        trained: verifier.trained,
        template: verifierTemplate(verifier.prompt_template),
        seed: config.seed + 1,
        reference: verifier.kind === "implicit" ? verifier.reference ?? verifier.model : null,
      }),
    };
    return { ...policies, verifier: asJudge(config, policies) };
  } catch (error) {
    opened.forEach(releasePolicy);
    throw error;
  } finally {
    // The policies that use them keep them.
    bases.release();
  }
}

/** The verifier with the prompt that it reads, and the longest text after it, where it is a reward model. */
function asJudge(
  { verifier: configured }: TangoConfig,
  { generator, verifier }: Policies,
): Policies["verifier"] {
  if (configured === null || verifier === null || configured.kind === "generative") return verifier;
  if (configured.kind === "outcome") {
    return { ...verifier, maximumResponse: verdictTokens(verifier) };
  }
  expectSameTokens(generator, verifier);
  // It reads prompt and solution as they were written, and nothing after them.
  const template: VerifierTemplate = {
    render: ({ question }) => generator.template.render({ question }),
  };
  return { ...verifier, template, maximumPrompt: null, maximumResponse: 0 };
}

/** Settings that a policy is opened with. */
interface Opened<Variable extends string> {
  readonly policy: PolicyConfig;
  readonly trained: boolean;
  readonly template: Prompt<Variable>;
  readonly seed: number;
  /** Path of the reference where there is one whether or not the policy is trained. */
  readonly reference?: string | null;
}

/** Tells which questions can be asked and their solutions judged within the models' positions. */
export function promptFitOf({ generator, verifier }: Policies): PromptFit {
  const answer = generator.maximumResponse;
  const fits = ({ config, maximumResponse }: Policy<unknown>, prompt: number) =>
    prompt + maximumResponse <= config.maxPositions;
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

/** The models that lie on this rank, references among them. */
export function modelsOf({ generator, verifier }: Policies): Model[] {
  return [generator, verifier].flatMap((policy) => {
    const here = policy?.engine.here;
    return here ? [here.model, ...(here.reference ? [here.reference] : [])] : [];
  });
}

/** The trainer of a policy that learns. */
export function trainerOf({ trainer }: PolicyEngine): Trainer {
  if (!trainer) throw new Error("a frozen policy has no trainer");
  return trainer;
}

/** Returns the GPU memory of one policy. */
export function releasePolicy({ engine: { here } }: Policy<unknown>): void {
  here?.sampler.close();
  here?.trainer?.release();
  here?.reference?.release();
  here?.model.release();
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

/** How the weights of a policy are loaded. */
interface Loading {
  readonly trained: boolean;
  /** Path of the reference where there is one whether or not the policy is trained; null: where a KL term needs it. */
  readonly reference: string | null;
  readonly seed: number;
  readonly bases: FrozenBases;
}

async function openPolicy<Variable extends string>(
  gpu: Gpu,
  config: TangoConfig,
  policy: PolicyConfig,
  loading: Loading,
  place: { readonly all: Communicator; readonly ranks: readonly number[] },
  template: Prompt<Variable>,
): Promise<Policy<Prompt<Variable>>> {
  const { trained } = loading;
  const group = holdersOf(place);
  // A rank that does not hold the policy reads what it looks like all the same.
  const loaded = await loadModelFolder(group ? gpu : gpu.rehearsal(), policy.model, {
    ...loading,
    bases: group ? loading.bases : undefined,
    trainedStorage: trainedStorage(config.trained_dtype),
    lora: trained ? policy.lora : null,
  });
  const { model, tokenizer } = loaded;
  try {
    if (trained) expectWhole(config, policy, model);
    const { prompt, turnEnd } = promptOf(policy, template, tokenizer);
    const here = group && await startEngine(gpu, config, policy, loading, loaded, group);
    return {
      tokenizer,
      template: prompt,
      stopTokens: withTurnEnd(loaded.stopTokens, turnEnd),
      maximumResponse: policy.max_response_length,
      maximumPrompt: policy.maximum_prompt_tokens ?? null,
      config: model.config,
      parameterCount: model.parameterCount,
      isTrained: trained,
      engine: { ...place, here },
    };
  } catch (error) {
    if (group) model.release();
    throw error;
  } finally {
    if (!group) model.release();
  }
}

/** What a policy is compared with: what the path says, or where a KL term needs it the weights that it began with. */
async function referenceOf(
  gpu: Gpu,
  config: TangoConfig,
  policy: TangoConfig["generator"],
  { trained, bases, reference }: Pick<Loading, "trained" | "bases" | "reference">,
  model: Model,
): Promise<Pick<PolicyEngine, "reference" | "hostReference">> {
  if (reference === null && (!trained || klCoefficientOf(config, policy) === 0)) {
    return { reference: null, hostReference: null };
  }
  const isWhole = trained && model.adapter === null;
  if (reference === null && isWhole && config.reference_memory === "host") {
    return { reference: null, hostReference: await HostReference.of(model) };
  }
  const path = reference ?? policy.model;
  // Weights that are trained in 16 bits began rounded to them.
  const isRounded = isWhole && config.trained_dtype !== "float32" && path === policy.model;
  const storage = isRounded ? trainedStorage(config.trained_dtype) : undefined;
  return {
    reference: await loadModel(gpu, path, { trained: false, bases, storage }),
    hostReference: null,
  };
}

/** @throws UserError when keys of weights that are trained themselves are asked of an adapter */
function expectWhole(config: TangoConfig, policy: PolicyConfig, { adapter }: Model): void {
  if (adapter === null || policy.lora !== null) return;
  for (const [key, usual] of [["trained_dtype", "float32"], ["reference_memory", "gpu"]] as const) {
    if (config[key] === usual) continue;
    throw new UserError(
      `${key} is ${
        config[key]
      }; expected ${usual}, because ${policy.model} is an adapter, whose base is not trained.`,
    );
  }
}

/** @param group the ranks that hold the policy, this one among them */
async function startEngine(
  gpu: Gpu,
  config: TangoConfig,
  policy: TangoConfig["generator"],
  { trained, bases, reference }: Loading,
  { model, tokenizer }: LoadedModel,
  group: Communicator,
): Promise<PolicyEngine> {
  const { rollout } = config;
  const reducer = gradientReducer(gpu.isRehearsal ? rehearsedRank(group) : group);
  const trainer = trained ? new Trainer(model, trainerOptions(config), reducer) : null;
  try {
    return {
      model,
      sampler: new Sampler(model, {
        slots: rollout.decode_slots,
        stepsBetweenReadbacks: rollout.steps_between_readbacks,
        tokenizer,
      }),
      trainer,
      ahead: new SampledAhead(),
      ...await referenceOf(gpu, config, policy, { trained, bases, reference }, model),
    };
  } catch (error) {
    trainer?.release();
    throw error;
  }
}
