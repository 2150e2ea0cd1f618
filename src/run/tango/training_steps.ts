/** A run's training steps: what the method needs is taken from the configuration here. */

import { generatorParts, verifierParts } from "../record/step_parts.ts";
import type { Parts } from "../store/audit_log.ts";
import type { Metrics } from "../store/metrics_log.ts";
import { camelCased } from "../../base/camel_cased.ts";
import type { Sampling } from "../../engine/sampling/rollout.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import { RandomStream, streams } from "../../random/philox.ts";
import { alphaAt } from "../../rl/schedule/alpha_schedule.ts";
import { needsVerifier } from "../../rl/advantage/step_judgments.ts";
import { generatorStep } from "../../rl/generator_step.ts";
import type { Learned } from "../../rl/learn_from.ts";
import { learningRateAt } from "../../rl/schedule/learning_rate.ts";
import type { PolicyName } from "../../rl/policy.ts";
import type { ContinuationOptions } from "../../rl/prefix_values.ts";
import { sampleAhead, type Solution } from "../../rl/responses.ts";
import type { Answered } from "../../rl/soundness.ts";
import type { DuringPhase } from "../../rl/schedule/step_phase.ts";
import {
  countGeneratorSteps,
  generatorStepsAfterWarmup,
  type TangoStep,
} from "../../rl/schedule/tango_schedule.ts";
import type { PolicyUpdateMetrics } from "../../rl/update/policy_update.ts";
import { type StepPay, verifierStep } from "../../rl/verifier_step.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { lossOptions } from "../config/loss_options.ts";
import type { Problems } from "../problems/problems.ts";
import type { Sample } from "../store/samples_log.ts";
import type { CustomReward } from "./custom_reward.ts";
import { critiqueSampling, rolloutSampling } from "./held_out_evaluation.ts";
import type { Policies } from "./policies.ts";
import { rewardModelOf } from "./reward_models.ts";
import { trainRewardModel } from "./train_reward_model.ts";
import { drawBalanced, type DrawnBatch, pooled, restored } from "./solution_pool.ts";
import { generatorMetrics, verifierStepMetrics } from "./step_metrics.ts";
import { generatorSamples, verifierSamples } from "./step_samples.ts";
import type { JudgingState } from "./tango_state.ts";

/** Policies, problems and settings of a step. */
export interface StepContext {
  /** Configuration of this step. */
  readonly config: TangoConfig;
  readonly policies: Policies;
  readonly problems: Problems;
  readonly reward: CustomReward | null;
  /** Runs the step's phases. */
  readonly during: DuringPhase;
  /** The step that comes next; null when none is left. */
  readonly next: TangoStep | null;
}

/** Result of a step. */
export interface StepOutcome {
  readonly metrics: Metrics;
  readonly samples: readonly Sample[];
  readonly parts: Parts;
  /** Tokens sampled and trained on. */
  readonly tokens: number;
  readonly learned: Pick<Learned, "unsound"> & {
    readonly update: Pick<PolicyUpdateMetrics, "applied" | "nonFinite"> | null;
  };
  /** One answer of each policy that wrote any. */
  readonly answers: { readonly [Policy in PolicyName]?: Answered };
  /** What verifier steps go by, after this step. */
  readonly judging: JudgingState;
}

/** Trains the generator. */
export async function trainGenerator(
  { config, policies, problems, reward, during }: StepContext,
  step: TangoStep,
  judging: JudgingState,
): Promise<StepOutcome> {
  const { rollout, advantage, rewards, loss, schedule } = camelCased(config);
  const { generator, verifier } = policies;
  const isWarmup = step.stage === "generatorWarmup";
  const { source } = problems;
  const rewardModel = isWarmup ? null : rewardModelOf(config, policies, source);
  const judge = isWarmup || rewardModel ? null : verifier;
  const isJudged = !isWarmup && (judge !== null || !needsVerifier(advantage.judgments));
  const alpha = isJudged || rewardModel?.rewardsTokens
    ? alphaAt(advantage.alpha, step.alphaStep, generatorStepsAfterWarmup(schedule))
    : 0;
  const adamw = adamwOf(config, "generator", step.generatorStep);
  const drawn: DrawnBatch[] = [];
  const draw = (batch: number) => {
    const { position } = problems;
    drawn.push({ problems: problems.draw(step.globalStep, rollout.batchSize, batch), position });
    return drawn[drawn.length - 1].problems;
  };
  const result = await generatorStep(
    generator,
    judge,
    source,
    draw,
    {
      rollout,
      rewards,
      advantage,
      judgments: isJudged ? advantage.judgments : null,
      rewardModel,
      continuations: continuationOptions(config, step),
      alpha,
      alphaIsEarned: advantage.alpha.schedule === "earned",
      judgmentQuality: judging.judgmentQuality,
      reward: reward && reward(source),
      masking: loss,
      loss: lossOptions(config, "generator", generator.maximumResponse),
      adamw,
      sampling: rolloutSampling(config, streams.generatorRollout, step.globalStep),
      verifierSampling: judgingSampling(config, step) ??
        critiqueSampling(config, streams.verifierRollout, step.globalStep),
      during,
      watched: config.samples_per_step,
    },
  );
  const { judged } = result;
  const [{ solution, critiques: [critique] }] = judged;
  return {
    metrics: { ...generatorMetrics(source, result, adamw), ...dataMetrics(problems) },
    samples: generatorSamples(step.globalStep, source, result, config.samples_per_step),
    parts: generatorParts(source, result),
    tokens: result.sampledTokens,
    learned: result,
    answers: { generator: answered(solution), ...(critique && { verifier: answered(critique) }) },
    judging: {
      ...judging,
      judgmentQuality: result.judgmentQuality,
      pool: config.class_reweighting.pool === 0 || !config.verifier?.trained
        ? judging.pool
        : pooled(
          judging.pool,
          step.globalStep,
          drawn,
          judged.map(({ solution }) => solution),
          config.class_reweighting.pool,
        ),
    },
  };
}

/**
 * Trains the verifier.
 */
export async function trainVerifier(
  context: StepContext,
  step: TangoStep,
  judging: JudgingState,
): Promise<StepOutcome> {
  const { config, policies, problems, during, next } = context;
  const { rollout, advantage, rewards, classReweighting, loss } = camelCased(config);
  const { generator, verifier } = policies;
  if (!verifier) throw new Error("a verifier step without a verifier");
  const adamw = adamwOf(config, "verifier", step.verifierStep);
  const { source } = problems;
  const meanwhile = async () => {
    if (next) await rolloutAhead(context, next);
  };
  const rewardModel = rewardModelOf(config, policies, source);
  if (rewardModel) {
    const trained = await trainRewardModel(context, rewardModel, step, judging, adamw, meanwhile);
    const { classCounts, metrics, ...outcome } = trained;
    return {
      ...outcome,
      metrics: { ...metrics, ...dataMetrics(problems) },
      judging: { ...judging, classCounts, pool: [] },
    };
  }
  const chosen = drawBalanced(
    judging.pool,
    rollout.batchSize,
    new RandomStream(config.seed, streams.verifierPool, step.globalStep),
  );
  const { batchSize, candidates, critiques, groupSize } = rollout;
  const { minimumSteps } = rewards;
  const earlier = restored(generator, problems, chosen, { batchSize, minimumSteps });
  const fresh = batchSize - earlier.length;
  const result = await verifierStep(
    generator,
    verifier,
    source,
    fresh === 0 ? [] : problems.draw(step.globalStep, fresh),
    judging.classCounts,
    {
      rollout: { groupSize: critiques ?? groupSize, candidates },
      rewards,
      // What others judge says nothing of the verifier.
      advantage: needsVerifier(advantage.judgments) ? advantage : { ...advantage, judged: "all" },
      classReweighting,
      masking: loss,
      loss: lossOptions(config, "verifier", verifier.maximumResponse),
      adamw,
      earlier,
      steps: stepPay(config, step, judging),
      judgmentQuality: judging.judgmentQuality,
      sampling: critiqueSampling(config, streams.verifierRollout, step.globalStep),
      judgingSampling: judgingSampling(config, step),
      generatorSampling: rolloutSampling(config, streams.generatorRollout, step.globalStep),
      during,
      watched: config.samples_per_step,
      meanwhile,
    },
  );
  const { rewarded, judgmentQuality } = result;
  const [{ critique }] = rewarded;
  const { pool } = config.class_reweighting;
  return {
    metrics: {
      ...verifierStepMetrics(source, result, adamw, verifier.tokenizer),
      ...(pool === 0 ? {} : { "verifier/frac_from_pool": earlier.length / batchSize }),
      ...dataMetrics(problems),
    },
    samples: verifierSamples(
      step.globalStep,
      source,
      verifier.tokenizer,
      result,
      config.samples_per_step,
    ),
    parts: verifierParts(source, result),
    tokens: result.sampledTokens,
    learned: result,
    answers: { generator: answered(critique.solution), verifier: answered(critique) },
    judging: {
      ...judging,
      judgmentQuality: judgmentQuality ?? judging.judgmentQuality,
      classCounts: result.classCounts,
      stepCounts: result.paidSteps?.counts ?? judging.stepCounts,
      pool: [],
    },
  };
}

/** How a step goes on from the ends of solutions' steps. */
function continuationOptions(config: TangoConfig, { globalStep }: TangoStep): ContinuationOptions {
  return {
    count: config.rewards.prefix_continuations,
    sampling: rolloutSampling(config, streams.continuations, globalStep),
  };
}

/** Sampling of the critiques that generator steps go by; null: as in verifier steps. */
function judgingSampling(config: TangoConfig, { globalStep }: TangoStep): Sampling | null {
  const { judging_temperature: temperature } = config.rollout;
  if (temperature === null) return null;
  return { ...critiqueSampling(config, streams.verifierRollout, globalStep), temperature };
}

/** How step judgments are paid; null: they are not. */
function stepPay(
  config: TangoConfig,
  step: TangoStep,
  { stepCounts }: JudgingState,
): StepPay | null {
  const { verifierSteps, verifierStepWeight } = camelCased(config.rewards);
  if (verifierSteps === "none") return null;
  const continuations = continuationOptions(config, step);
  return {
    continuations: verifierSteps === "prefix" ? continuations : null,
    weight: verifierStepWeight,
    counts: stepCounts,
  };
}

/**
 * Samples the solutions of the next step on ranks that hold the generator alone, while the verifier's are
 * busy: its update changes nothing about them.
 */
async function rolloutAhead(
  { config, policies: { generator }, problems }: StepContext,
  { globalStep, phase }: TangoStep,
): Promise<void> {
  const { batch_size, group_size, candidates } = config.rollout;
  const { position } = problems;
  const drawn = problems.draw(globalStep, batch_size);
  // The step itself will draw them.
  problems.position = position;
  const count = phase === "generator" ? group_size : candidates;
  const sampling = rolloutSampling(config, streams.generatorRollout, globalStep);
  await sampleAhead(generator, problems.source, drawn, count, sampling);
}

/** The numbers of a policy's own step, counted from 1. */
function adamwOf(config: TangoConfig, policy: PolicyName, step: number): AdamwNumbers {
  const configured = config[policy];
  if (!configured) throw new Error(`there is no ${policy}`);
  const optimizer = camelCased(configured.optimizer);
  const schedule = camelCased(config.schedule);
  const generatorSteps = countGeneratorSteps(schedule);
  const verifierSteps = schedule.totalTrainingSteps - generatorSteps;
  const totalSteps = policy === "generator" ? generatorSteps : verifierSteps;
  return { ...optimizer, learningRate: learningRateAt({ ...optimizer, totalSteps }, step - 1) };
}

/** How far the files were gone through. */
function dataMetrics({ epochs }: Problems): Metrics {
  return epochs === null ? {} : { "data/epochs": epochs };
}

function answered({ prompt, rollout }: Pick<Solution<unknown>, "prompt" | "rollout">): Answered {
  return { prompt, response: rollout.tokens };
}
