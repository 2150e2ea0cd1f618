import { alone } from "../../distributed/communicator.ts";
import { type Rank, rehearsedRank } from "../../distributed/rehearsed_rank.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { Policy, PolicyEngine, PolicyName } from "../../rl/policy.ts";
import { type PolicySample, updatePolicy } from "../../rl/update/policy_update.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { LEARNABILITY_SAMPLES } from "../../rl/measures/learnability.ts";
import { lossOptions } from "../config/loss_options.ts";
import { anyNumbers } from "./any_numbers.ts";
import {
  type MemoryPlan,
  type RehearsedPhase,
  rehearsePhases,
  residentUses,
  shardSumUses,
} from "./memory_plan.ts";
import {
  type PromptLengths,
  promptLengths,
  rehearseSampling,
  type Rollout,
} from "./rehearsed_sampling.ts";
import { rewardModelPhases } from "./reward_model_memory.ts";
import { openProblems, requirementsOf } from "../problems/open_problems.ts";
import { openPolicies, promptFitOf, releasePolicies } from "../tango/policies.ts";

/**
 * GPU memory of a rank in a run when every response is as long as it may be. The run is rehearsed
 * on a GPU without memory and without the other ranks; nothing is allocated.
 *
 * @param rank which of how many; by default a process by itself
 * @throws UserError when one of its buffers is larger than the device binds
 */
export async function planTangoMemory(
  gpu: Gpu,
  config: TangoConfig,
  rank: Rank = alone,
): Promise<MemoryPlan> {
  const rehearsal = gpu.rehearsal();
  const policies = await openPolicies(rehearsal, config, { ranks: rehearsedRank(rank) });
  try {
    const { generator, verifier } = policies;
    const requires = requirementsOf(config);
    using problems = await openProblems(config, promptFitOf(policies), requires);
    const questions = problems.questions(problemsLookedAt);
    const { generator: toSolve, verifier: toJudge } = promptLengths(questions, generator, verifier);
    const resident = residentUses([
      { name: "generator", ...generator.engine.here },
      { name: "verifier", ...verifier?.engine.here },
    ]);
    const { rollout, evaluation } = config;
    const { batch_size, group_size, candidates, verifications_per_solution } = rollout;
    const trained = (name: PolicyName) => ({
      prompts: batch_size,
      responses: groupSizeOf(config, name),
    });
    const chosenFrom = config.verifier?.trained && candidates > 1
      ? [{ prompts: batch_size, responses: candidates }]
      : [];
    const judged = {
      prompts: batch_size * group_size,
      responses: verifications_per_solution,
      toQuestion: group_size,
    };
    const measured = [problems.heldOut("test"), problems.heldOut("validation")];
    const prompts = Math.max(...measured.map(({ length }) => length));
    const evaluated = { prompts, responses: evaluation.samples };
    const start = {
      prompts: Math.min(config.schedule.measure_start, prompts),
      responses: LEARNABILITY_SAMPLES,
    };
    const atStart = start.prompts > 0 && config.generator.trained ? [start] : [];
    const rewardsByModel = config.verifier !== null && config.verifier.kind !== "generative";
    const continued = goesOn(config) ? continuations(config, generator.maximumResponse) : [];
    return await rehearsePhases(rehearsal, resident, [
      ...(generator.engine.here
        ? [phase(
          "sampling solutions",
          () =>
            rehearseSampling(config, generator, toSolve, [
              trained("generator"),
              ...chosenFrom,
              evaluated,
              ...atStart,
              ...continued,
            ]),
        )]
        : []),
      ...(verifier?.engine.here && toJudge && !rewardsByModel
        ? [phase(
          "sampling critiques",
          () =>
            rehearseSampling(config, verifier, toJudge, [trained("verifier"), judged, evaluated]),
        )]
        : []),
      ...training("generator", config, generator, toSolve),
      ...(verifier && toJudge && !rewardsByModel
        ? training("verifier", config, verifier, toJudge)
        : []),
      ...(rewardsByModel && toJudge
        ? rewardModelPhases(
          config,
          policies,
          config.verifier?.kind === "implicit" ? toSolve : toJudge,
        )
        : []),
    ]);
  } finally {
    releasePolicies(policies);
  }
}

/** Whether the generator goes on from the ends of solutions' steps. */
function goesOn({ advantage, rewards, verifier, generator }: TangoConfig): boolean {
  const forItself = generator.trained && advantage.judgments === "prefix";
  return forItself || ((verifier?.trained ?? false) && rewards.verifier_steps === "prefix");
}

/** From how many steps' ends is not known: enough of them to fill the slots, after as little and as much as can be. */
function continuations({ rollout, rewards }: TangoConfig, maximumResponse: number): Rollout[] {
  const most = { prompts: rollout.decode_slots, responses: rewards.prefix_continuations };
  return [most, { ...most, begun: maximumResponse - 1 }];
}

const phase = (what: string, run: () => Promise<unknown>) => ({ what, run });

/** Problems among which the longest question is looked for. */
const problemsLookedAt = 512;

/** The phase in which a policy is trained; none when it is frozen, or other ranks hold it. */
function training(
  name: PolicyName,
  config: TangoConfig,
  policy: Policy<unknown>,
  lengths: PromptLengths,
): RehearsedPhase[] {
  const { engine: { here }, maximumResponse } = policy;
  if (!here?.trainer) return [];
  const { trainer } = here;
  const run = () => update(config, name, here, maximumResponse, lengths);
  return [{ what: `training the ${name}`, run, among: shardSumUses(trainer) }];
}

/** One pass of the fullest micro-batch, with prompts that take much of it and with prompts that take little. */
async function update(
  config: TangoConfig,
  name: PolicyName,
  { model, trainer, reference, hostReference }: PolicyEngine,
  maximumResponse: number,
  { shortest, longest }: PromptLengths,
): Promise<void> {
  if (!trainer) throw new Error("a frozen policy is not trained");
  const options = lossOptions(config, name, maximumResponse);
  const once = { ...options, miniBatches: 1, epochs: 1 };
  for (const promptTokens of [shortest, longest]) {
    const size = groupSizeOf(config, name);
    const pass = fullestPass(config, size, model, promptTokens, maximumResponse);
    // The pass as many times as there are shards, so that each shard makes it.
    const groups = Array.from({ length: config.reduction.shards }, () => pass).flat();
    // Neighbours with the same prompt would share it.
    const samples = groups.flatMap((group, g) => {
      const prompt = new Uint32Array(promptTokens).fill(g % 2);
      return group.map((sample) => ({ ...sample, prompt }));
    });
    await updatePolicy(trainer, hostReference ?? reference, samples, once, anyNumbers);
  }
}

/** Responses of a policy that are compared with each other. */
function groupSizeOf(
  { rollout: { group_size, critiques } }: TangoConfig,
  name: PolicyName,
): number {
  return name === "verifier" ? critiques ?? group_size : group_size;
}

/**
 * The fullest micro-batch: whole groups, as long as fit.
 *
 * @param groupSize responses to each prompt
 */
export function fullestPass(
  { rollout, loss }: TangoConfig,
  groupSize: number,
  model: Model,
  promptTokens: number,
  maximumResponse: number,
): Omit<PolicySample, "prompt">[][] {
  const budget = Math.min(loss.micro_batch_tokens, model.tokensPerPass);
  const responses = Math.ceil(rollout.batch_size / loss.mini_batches) * groupSize;
  // Responses that stay together: those to a prompt, or each by itself.
  const size = loss.share_prompts ? groupSize : 1;
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
      // Without an advantage it would not be computed.
      advantages: new Float32Array(length).fill(1),
    });
    groups.push(Array.from({ length: size }, sample));
  }
  return groups;
}
