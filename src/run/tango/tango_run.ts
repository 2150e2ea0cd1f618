import { camelCased } from "../../base/camel_cased.ts";
import { alone, type Communicator } from "../../distributed/communicator.ts";
import { madeOf } from "../../distributed/placed.ts";
import { gatherValues } from "../../distributed/values.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { ParameterCount } from "../../model/decoder/model.ts";
import { nothingToLearn } from "../../rl/measures/learnability.ts";
import type { PolicyName } from "../../rl/policy.ts";
import type { DuringPhase } from "../../rl/schedule/step_phase.ts";
import { nextStep, positionAfter, type TangoStep } from "../../rl/schedule/tango_schedule.ts";
import { evaluationParts } from "../record/step_parts.ts";
import { changeTangoConfig, type Settings } from "../config/changeable.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import type { WatchedPolicy } from "../health/policy_health.ts";
import type { Course, DoneStep, DueStep, Evaluated } from "../loop/course.ts";
import { openProblems, requirementsOf } from "../problems/open_problems.ts";
import type { Problems } from "../problems/problems.ts";
import { judgmentLabelsFile, readJudgmentLabels } from "../store/judgment_labels.ts";
import { METRIC } from "../store/metric_names.ts";
import type { Metrics } from "../store/metrics_log.ts";
import { type RunDevice, runDeviceOf } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { StoredCheckpoint } from "../store/stored_checkpoint.ts";
import type { TrainedModels } from "../store/trained_models.ts";
import { writeModelFolder } from "../store/weights_folder.ts";
import { type CustomReward, openReward } from "./custom_reward.ts";
import { HeldOutEvaluation } from "./held_out_evaluation.ts";
import { learnabilityMetrics } from "./learnability_metrics.ts";
import { modelsOf, openPolicies, type Policies, promptFitOf, releasePolicies } from "./policies.ts";
import { evaluationSamples } from "./step_samples.ts";
import {
  initialState,
  modelKey,
  type TangoState,
  tangoStateSchema,
  trainedModels,
} from "./tango_state.ts";
import { trainGenerator, trainVerifier } from "./training_steps.ts";
import { updatesOf, watchedPolicies } from "./watched_policies.ts";

/** The Tango schedule over two policies. */
export class TangoRun implements Course<TangoConfig> {
  readonly changed: (config: TangoConfig, settings: Settings) => TangoConfig = changeTangoConfig;
  readonly choosesHighest = true;
  readonly modelKey: (name: string) => string = modelKey;
  readonly watched: Partial<Record<PolicyName, WatchedPolicy>>;
  readonly device: RunDevice;
  readonly models: TrainedModels;
  #config: TangoConfig;
  #heldOut: HeldOutEvaluation;
  #state: TangoState = initialState();
  #opened = new DisposableStack();

  /**
   * Loads the models and opens the problems; all ranks call it.
   *
   * @throws UserError when a file the configuration names is missing or unsound
   */
  static async open(
    gpu: Gpu,
    config: TangoConfig,
    ranks: Communicator = alone,
  ): Promise<TangoRun> {
    const reward = await openReward(config.rewards.module);
    using opened = new DisposableStack();
    const policies = await openPolicies(gpu, config, { ranks });
    opened.defer(() => releasePolicies(policies));
    const requires = requirementsOf(config);
    const problems = opened.use(await openProblems(config, promptFitOf(policies), requires));
    const run = new TangoRun(gpu, config, ranks, policies, problems, reward);
    run.#opened = opened.move();
    return run;
  }

  private constructor(
    gpu: Gpu,
    config: TangoConfig,
    readonly ranks: Communicator,
    private readonly policies: Policies,
    private readonly problems: Problems,
    private readonly reward: CustomReward | null,
  ) {
    this.#config = config;
    this.#heldOut = new HeldOutEvaluation(config, problems);
    this.watched = watchedPolicies(config, policies);
    this.device = runDeviceOf(gpu, modelsOf(policies));
    this.models = trainedModels(policies);
    problems.position = this.#state.problemPosition;
  }

  get config(): TangoConfig {
    return this.#config;
  }

  set config(config: TangoConfig) {
    if (config === this.#config) return;
    this.#config = config;
    this.#heldOut = new HeldOutEvaluation(config, this.problems);
  }

  get step(): number {
    return this.#state.position.globalSteps;
  }

  get totalSteps(): number {
    return this.#config.schedule.total_training_steps;
  }

  get trained(): readonly PolicyName[] {
    return (["generator", "verifier"] as const).filter((name) => this.policies[name]?.isTrained);
  }

  next(): DueStep | null {
    const next = this.#next;
    return next && { step: next.globalStep, ...next };
  }

  async take(during: DuringPhase): Promise<DoneStep> {
    const step = this.#next;
    if (step === null) throw new Error("a step after the last");
    const { position } = this.#state;
    const after = positionAfter(this.#schedule, position, step);
    const context = {
      config: this.#config,
      policies: this.policies,
      problems: this.problems,
      reward: this.reward,
      next: nextStep(this.#schedule, after),
      during,
    };
    const train = step.phase === "generator" ? trainGenerator : trainVerifier;
    const { classCounts, judgmentQuality, stepCounts, pool } = this.#state;
    const judging = { classCounts, judgmentQuality, stepCounts, pool };
    const outcome = await train(context, step, judging);
    this.#state = { ...this.#state, position: after, ...outcome.judging };
    return {
      ...outcome,
      phase: step.phase,
      timings: await this.#countTimeouts(),
      updates: updatesOf(step.phase, outcome.learned),
    };
  }

  async evaluate(step: number): Promise<Evaluated> {
    const { generator, verifier } = this.policies;
    const { schedule: { keep_best, measure_start }, samples_per_step } = this.#config;
    const isMeasured = step === 0 && measure_start > 0 && generator.isTrained;
    const learnable = isMeasured ? await this.#heldOut.measureLearnability(generator) : null;
    const solved = await this.#heldOut.measureGenerator(generator, step);
    const judged = verifier && await this.#heldOut.measureVerifier(this.policies, step);
    const choice = keep_best ? await this.#heldOut.validate(generator, step) : null;
    const { solutions, critiques, scores } = judged ?? { ...solved, critiques: [], scores: [] };
    const { source } = this.problems;
    return {
      metrics: {
        ...solved.metrics,
        ...judged?.metrics,
        ...(choice === null ? {} : { [METRIC.validationAccuracy]: choice }),
        ...(learnable && learnabilityMetrics(learnable)),
      },
      warning: learnable && nothingToLearn(learnable),
      parts: evaluationParts(
        source,
        [...solved.solutions, ...judged?.solutions ?? []],
        critiques,
        scores,
      ),
      samples: evaluationSamples(step, source, solutions, critiques, samples_per_step),
      choice,
    };
  }

  async writeModels(folder: RunFolder, which: "weights" | "best"): Promise<void> {
    const start = this.#config.verifier?.model;
    const labels = { generator: null, verifier: start ? readJudgmentLabels(start) : null };
    for (const name of this.trained) {
      const policy = this.policies[name];
      if (policy === null) continue;
      const { tokenizer, stopTokens } = policy;
      const loaded = madeOf(policy.engine, ({ model }) => ({ model, tokenizer, stopTokens }));
      await writeModelFolder(folder[which](name), loaded, judgmentLabelsFile(labels[name]));
    }
  }

  modelFolder(folder: RunFolder, policy: PolicyName): string {
    return folder.weights(policy);
  }

  state() {
    const { position, classCounts, judgmentQuality, stepCounts, pool } = this.#state;
    return {
      position: { ...position },
      classCounts: classCounts && { ...classCounts },
      judgmentQuality: judgmentQuality && { ...judgmentQuality },
      stepCounts: stepCounts?.map((counts) => ({ ...counts })) ?? null,
      pool: pool.map((one) => ({ ...one })),
      problemPosition: this.problems.position,
    };
  }

  adopt(checkpoint: StoredCheckpoint): void {
    this.#state = checkpoint.state(tangoStateSchema);
    this.problems.position = this.#state.problemPosition;
  }

  /** Report on the rows of the files that problems come from; null for an embedded task. */
  get dataReport(): string | null {
    return this.problems.report;
  }

  /** Parameters of each policy; the verifier's are null when there is none. */
  get parameterCounts(): {
    readonly generator: ParameterCount;
    readonly verifier: ParameterCount | null;
  } {
    const { generator, verifier } = this.policies;
    return {
      generator: generator.parameterCount,
      verifier: verifier && verifier.parameterCount,
    };
  }

  close(): void {
    this.#opened.dispose();
  }

  get #schedule() {
    return camelCased(this.#config.schedule);
  }

  get #next(): TangoStep | null {
    return nextStep(this.#schedule, this.#state.position);
  }

  /** Answers of files that took too long to compare, whichever rank graded them. */
  async #countTimeouts(): Promise<Metrics> {
    const { epochs, timeouts } = this.problems;
    if (epochs === null) return {};
    const counts = await gatherValues(this.ranks, timeouts);
    return { "data/answer_timeouts": counts.reduce((sum, count) => sum + count, 0) };
  }
}
