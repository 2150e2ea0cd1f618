import type { Gpu } from "../../gpu/gpu.ts";
import { streams } from "../../random/philox.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { Policy } from "../../rl/policy.ts";
import { type PolicySample, updatePolicy } from "../../rl/policy_update.ts";
import type { GeneratorTemplate, VerifierTemplate } from "../../rl/prompt_template.ts";
import { rollout } from "../../engine/rollout.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { rolloutSampling } from "../tango/held_out_evaluation.ts";
import { lossOptions } from "../config/loss_options.ts";
import { anyNumbers } from "./any_numbers.ts";
import {
  type MemoryPlan,
  type RehearsedPhase,
  rehearsePhases,
  residentUses,
  shardSumUses,
} from "./memory_plan.ts";
import { openProblems, requirementsOf } from "../problems/open_problems.ts";
import { openPolicies, promptFitOf, releasePolicies } from "../tango/policies.ts";

/** Tokens of the prompts of a policy. */
interface PromptLengths {
  readonly shortest: number;
  readonly longest: number;
}

/**
 * What a run takes of the GPU's memory when every response is as long as it may be. The run is rehearsed
 * on a GPU without memory; nothing is allocated.
 *
 * @throws UserError when one of its buffers is larger than the device binds
 */
export async function planTangoMemory(gpu: Gpu, config: TangoConfig): Promise<MemoryPlan> {
  const rehearsal = gpu.rehearsal();
  const policies = await openPolicies(rehearsal, config);
  try {
    const { generator, verifier } = policies;
    const requires = requirementsOf(config);
    using problems = await openProblems(config, promptFitOf(policies), requires);
    const questions = problems.questions(problemsLookedAt);
    const lengths = promptLengths(questions, generator, verifier);
    const resident = residentUses([
      { name: "generator", ...generator },
      ...(verifier ? [{ name: "verifier", ...verifier }] : []),
    ]);
    const { rollout: { batch_size, group_size, verifications_per_solution }, evaluation } = config;
    const trained = { prompts: batch_size, responses: group_size };
    const judged = { prompts: batch_size * group_size, responses: verifications_per_solution };
    const measured = [problems.heldOut("test"), problems.heldOut("validation")];
    const prompts = Math.max(...measured.map(({ length }) => length));
    const evaluated = { prompts, responses: evaluation.samples };
    return await rehearsePhases(rehearsal, resident, [
      phase(
        "sampling solutions",
        () => sample(config, generator, lengths.generator, [trained, evaluated]),
      ),
      ...(verifier
        ? [phase(
          "sampling critiques",
          () => sample(config, verifier, lengths.verifier, [trained, judged, evaluated]),
        )]
        : []),
      ...training("generator", config, generator, lengths.generator),
      ...(verifier ? training("verifier", config, verifier, lengths.verifier) : []),
    ]);
  } finally {
    releasePolicies(policies);
  }
}

const phase = (what: string, run: () => Promise<unknown>) => ({ what, run });

/** Problems among which the longest question is looked for. */
const problemsLookedAt = 512;

function promptLengths(
  questions: readonly string[],
  generator: Policy<GeneratorTemplate>,
  verifier: Policy<VerifierTemplate> | null,
): { readonly generator: PromptLengths; readonly verifier: PromptLengths } {
  const range = (prompts: readonly Uint32Array[], solution = 0): PromptLengths => {
    const lengths = prompts.map(({ length }) => length);
    return { shortest: Math.min(...lengths), longest: Math.max(...lengths) + solution };
  };
  const asked = questions.map((question) =>
    generator.tokenizer.encode(generator.template.render({ question }))
  );
  const judged = verifier === null ? [] : questions.map((question) => {
    return verifier.tokenizer.encode(
      verifier.template.render({ question, solution: "", steps: 9 }),
    );
  });
  return { generator: range(asked), verifier: range(judged, generator.maximumResponse) };
}

/** So many responses to each of so many prompts. */
interface Rollout {
  readonly prompts: number;
  readonly responses: number;
}

/** The first tokens of rollouts, each as wide as it may be. */
async function sample(
  config: TangoConfig,
  policy: Policy<unknown>,
  { longest }: PromptLengths,
  rollouts: readonly Rollout[],
): Promise<void> {
  for (const { prompts, responses } of rollouts) {
    const held = Math.ceil(policy.sampler.slots / responses);
    const requests = Array.from({ length: Math.min(prompts, held + 1) }, (_, p) => ({
      // No two begin alike, so that each is computed.
      prompt: new Uint32Array(longest).fill(p % policy.model.config.vocabularySize),
      // The last response to one prompt may come together with all to those after it.
      sequenceIds: Array.from({ length: p === 0 && prompts > held ? 1 : responses }, (_, i) => i),
    }));
    await rollout(policy.sampler, requests, {
      ...rolloutSampling(config, streams.generatorRollout, 1),
      // A rehearsal samples token 0.
      stopTokens: [0],
      maximumResponse: policy.maximumResponse,
    });
    policy.sampler.release();
  }
}

/** The phase in which a policy is trained; none when it is frozen. */
function training(
  name: string,
  config: TangoConfig,
  policy: Policy<unknown>,
  lengths: PromptLengths,
): RehearsedPhase[] {
  const { trainer } = policy;
  if (!trainer) return [];
  const run = () => update(config, policy, lengths);
  return [{ what: `training the ${name}`, run, among: shardSumUses(trainer) }];
}

/** One pass of the fullest micro-batch, with prompts that take much of it and with prompts that take little. */
async function update(
  config: TangoConfig,
  { model, trainer, reference, maximumResponse }: Policy<unknown>,
  { shortest, longest }: PromptLengths,
): Promise<void> {
  if (!trainer) throw new Error("a frozen policy is not trained");
  const options = lossOptions(config, maximumResponse);
  const once = { ...options, miniBatches: 1, epochs: 1 };
  for (const promptTokens of [shortest, longest]) {
    const pass = fullestPass(config, model, promptTokens, maximumResponse);
    // As many times as there are parts, so that each of them makes this pass.
    const groups = Array.from({ length: config.reduction.shards }, () => pass).flat();
    // Neighbours with the same prompt would share it.
    const samples = groups.flatMap((group, g) => {
      const prompt = new Uint32Array(promptTokens).fill(g % 2);
      return group.map((sample) => ({ ...sample, prompt }));
    });
    await updatePolicy(trainer, reference, samples, once, anyNumbers);
  }
}

function fullestPass(
  { rollout, loss }: TangoConfig,
  model: Model,
  promptTokens: number,
  maximumResponse: number,
): Omit<PolicySample, "prompt">[][] {
  const budget = Math.min(loss.micro_batch_tokens, model.tokensPerPass);
  const responses = Math.ceil(rollout.batch_size / loss.mini_batches) * rollout.group_size;
  // What cannot be cut: the responses to a prompt, or one.
  const size = loss.share_prompts ? rollout.group_size : 1;
  const promptCopies = size === 1 ? promptTokens : promptTokens - 1 + size;
  const groups: Omit<PolicySample, "prompt">[][] = [];
  let used = 0;
  while (groups.length * size < responses) {
    const fitting = Math.floor((budget - used - promptCopies) / size);
    // The first group makes a pass whatever it takes.
    const length = used === 0 ? maximumResponse : Math.min(maximumResponse, fitting);
    if (length < 1) break;
    used += promptCopies + size * length;
    const sample = () => ({
      response: new Uint32Array(length),
      oldLogProbs: new Float32Array(length),
      advantages: new Float32Array(length),
    });
    groups.push(Array.from({ length: size }, sample));
  }
  return groups;
}
