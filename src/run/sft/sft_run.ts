import { UserError } from "../../base/user_error.ts";
import { z } from "zod";
import { camelCased } from "../../base/camel_cased.ts";
import { alone, type Communicator } from "../../distributed/communicator.ts";
import { gradientReducer } from "../../distributed/gradient_reducer.ts";
import { onEveryRank } from "../../distributed/placed.ts";
import type { Reducer } from "../../engine/training/reducer.ts";
import { Trainer } from "../../engine/training/trainer.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { Model, ParameterCount } from "../../model/decoder/model.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import {
  FrozenBases,
  type LoadedModel,
  loadModel,
  loadModelFolder,
} from "../../model/weights/model_folder.ts";
import { nothingToLearn } from "../../rl/measures/learnability.ts";
import type { PolicyName } from "../../rl/policy.ts";
import { learningRateAt } from "../../rl/schedule/learning_rate.ts";
import { type DuringPhase, unwatched } from "../../rl/schedule/step_phase.ts";
import {
  pairsOf,
  type PreferenceOptions,
  updatePreferences,
} from "../../rl/update/preference_update.ts";
import {
  type SupervisedMetrics,
  type SupervisedSample,
  updateSupervised,
} from "../../rl/update/supervised_update.ts";
import { supervisedParts } from "../record/step_parts.ts";
import { changeSftConfig, type Settings } from "../config/changeable.ts";
import { frozenStorage, trainedStorage } from "../config/frozen_storage.ts";
import { trainerOptions } from "../config/loss_options.ts";
import { requireShards } from "../config/placement.ts";
import type { JudgmentLabels, SftConfig } from "../config/sft_config_schema.ts";
import { gradientTrouble, type WatchedPolicy } from "../health/policy_health.ts";
import type { Course, DoneStep, DueStep, Evaluated } from "../loop/course.ts";
import type { Examples } from "../problems/examples.ts";
import { fineTuningFile } from "../store/fine_tuning_file.ts";
import { judgmentLabelsFile, readJudgmentLabels } from "../store/judgment_labels.ts";
import { METRIC } from "../store/metric_names.ts";
import type { Metrics } from "../store/metrics_log.ts";
import { type RunDevice, runDeviceOf } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { countSchema, type StoredCheckpoint } from "../store/stored_checkpoint.ts";
import type { TrainedModels } from "../store/trained_models.ts";
import { writeModelFolder } from "../store/weights_folder.ts";
import { learnabilityMetrics } from "../tango/learnability_metrics.ts";
import { newModel } from "./new_model.ts";
import { type OpenedExamples, openExamples } from "./open_examples.ts";
import { type SampledSolutions, sampledSolutionsSchema } from "./own_solutions.ts";
import { SftMeasurement } from "./sft_measurement.ts";

/** Where the weights of a fine-tuning go. */
export function sftWeights(folder: RunFolder, config: SftConfig): string {
  return config.output_directory ?? folder.weights(config.policy);
}

const stateSchema = z.object({
  /** Updates done. */
  step: countSchema,
  /** Records of the files that were gone through. */
  position: countSchema,
  /** True when the accuracy that ends it was reached. */
  isReached: z.boolean(),
  own: sampledSolutionsSchema,
});

/** Supervised fine-tuning of one policy from random or given weights, by one rank or by several together. */
export class SftRun implements Course<SftConfig> {
  readonly changed: (config: SftConfig, settings: Settings) => SftConfig = changeSftConfig;
  readonly trainer: Trainer;
  readonly examples: Examples;
  readonly measurement: SftMeasurement;
  readonly watched: Partial<Record<PolicyName, WatchedPolicy>>;
  readonly device: RunDevice;
  readonly models: TrainedModels;
  /** A generator's own solutions to judge; null where none are asked for. */
  readonly own: SampledSolutions | null;
  #step = 0;
  #isReached = false;
  #opened = new DisposableStack();

  /**
   * Loads or makes the model.
   *
   * @param ranks all of the run, which all call it
   * @param reducer through which they train
   * @throws UserError when a file the configuration names is missing or unsound, or a batch has fewer shards
   *   than there are ranks
   */
  static async open(
    gpu: Gpu,
    config: SftConfig,
    ranks: Communicator = alone,
    reducer = gradientReducer(ranks),
  ): Promise<SftRun> {
    requireShards(config.reduction.shards, ranks.size, "the model");
    using opened = new DisposableStack();
    // The weights that do not change lie there once, for the model and for what it began as.
    const bases = new FrozenBases(frozenStorage(config.frozen_dtype));
    opened.defer(() => bases.release());
    const loaded = config.initial_model === null
      ? newModel(gpu, config)
      : await loadModelFolder(gpu, config.initial_model, {
        trained: true,
        trainedStorage: trainedStorage(config.trained_dtype),
        lora: config.lora,
        seed: config.seed,
        bases,
      });
    opened.defer(() => loaded.model.release());
    if (loaded.model.adapter && config.trained_dtype !== "float32") {
      throw new UserError(
        `trained_dtype is ${config.trained_dtype}; expected float32, because ${config.initial_model} is an adapter, ` +
          "whose base is not trained.",
      );
    }
    const reference = config.preferences === null || config.initial_model === null
      ? null
      : await loadModel(gpu, config.initial_model, {
        trained: false,
        // What weights began as that are trained themselves lies as they do.
        ...(loaded.model.adapter ? { bases } : { storage: frozenStorage(config.trained_dtype) }),
      });
    opened.defer(() => reference?.release());
    const measured = await openExamples(config, loaded, ranks);
    opened.use(measured.examples);
    if (measured.learnability) opened.use(measured.learnability.problems);
    const run = new SftRun(gpu, config, ranks, loaded, reference, measured, reducer);
    opened.defer(() => run.trainer.release());
    run.#opened = opened.move();
    return run;
  }

  private constructor(
    gpu: Gpu,
    public config: SftConfig,
    readonly ranks: Communicator,
    private readonly loaded: LoadedModel,
    /** What pairs of responses are measured beside; null where responses are imitated. */
    readonly reference: Model | null,
    { examples, measurement, learnability, own }: OpenedExamples,
    reducer: Reducer,
  ) {
    const loss = { ...config.loss, share_prompts: false };
    const options = {
      ...trainerOptions({ ...config, loss }),
      // Both responses of a pair have one prompt.
      ...(config.preferences && { sharePrompts: 2 }),
    };
    this.trainer = new Trainer(loaded.model, options, reducer);
    this.examples = examples;
    this.own = own;
    this.measurement = new SftMeasurement(
      config,
      this.trainer,
      examples,
      measurement,
      learnability,
      this.preferences,
    );
    this.device = runDeviceOf(gpu, [loaded.model, ...(reference ? [reference] : [])]);
    this.models = { [config.policy]: onEveryRank(ranks, this.trainer) };
    const watched: WatchedPolicy = {
      engine: onEveryRank(ranks, loaded),
      optimizerKey: "optimizer",
      maximumSkipped: config.optimizer.maximum_skipped_updates,
    };
    this.watched = { [config.policy]: watched };
  }

  /** How pairs of responses are measured; null where responses are imitated. */
  get preferences(): PreferenceOptions | null {
    const { reference, config: { preferences } } = this;
    return preferences && reference && { ...preferences, reference };
  }

  get step(): number {
    return this.#step;
  }

  get totalSteps(): number {
    const { batch_size, schedule: { total_training_steps, epochs } } = this.config;
    const { count } = this.examples;
    if (epochs === null || count === null) return total_training_steps;
    return Math.min(total_training_steps, Math.max(1, Math.floor(epochs * count / batch_size)));
  }

  get choosesHighest(): boolean {
    return this.measurement.choosesByAccuracy;
  }

  get trained(): readonly PolicyName[] {
    return [this.config.policy];
  }

  /** Number of the model's parameters. */
  get parameterCount(): ParameterCount {
    return this.loaded.model.parameterCount;
  }

  next(): DueStep | null {
    const { totalSteps, config: { schedule: { test_frequency, save_frequency } } } = this;
    if (this.#isReached || this.#step >= totalSteps) return null;
    const step = this.#step + 1;
    return {
      step,
      evaluateBefore: step === 1,
      evaluateAfter: step % test_frequency === 0 || step === totalSteps,
      saveAfter: save_frequency > 0 && step % save_frequency === 0,
    };
  }

  async take(during: DuringPhase): Promise<DoneStep> {
    const { policy, batch_size } = this.config;
    const step = this.#step + 1;
    const adamw = this.#adamw(step);
    const { own } = this;
    const sampled = own === null || own.isThere
      ? null
      : await during("rollout", () => own.sample());
    const samples = this.examples.draw(step, batch_size);
    const { loss, gradientNorm, nonFinite, tokens, metrics } = await during(
      "update",
      () => this.learn(samples, adamw, during),
    );
    this.#step = step;
    const { epochs } = this.examples;
    const isApplied = nonFinite === 0;
    return {
      phase: policy,
      metrics: {
        [METRIC.supervisedLoss]: loss,
        "sft/grad_norm": gradientNorm,
        "sft/non_finite_gradients": nonFinite,
        "sft/skipped_updates": isApplied ? 0 : 1,
        "sft/learning_rate": adamw.learningRate,
        "sft/tokens": tokens,
        ...metrics,
        ...(epochs === null ? {} : { "data/epochs": epochs }),
        ...(sampled && {
          "data/own_right_solutions": sampled.right,
          "data/own_wrong_solutions": sampled.wrong,
          "data/own_left_out_solutions": sampled.leftOut,
        }),
      },
      parts: supervisedParts(samples),
      tokens,
      answers: { [policy]: samples[0] },
      updates: {
        learner: policy,
        policy,
        applied: [isApplied],
        what: gradientTrouble(nonFinite),
      },
    };
  }

  /** One update on examples as they are drawn. */
  async learn(
    samples: readonly SupervisedSample[],
    adamw: AdamwNumbers,
    during: DuringPhase = unwatched,
  ): Promise<SupervisedMetrics & { readonly metrics: Metrics }> {
    const { trainer, preferences } = this;
    if (preferences === null) {
      return { ...await updateSupervised(trainer, samples, adamw, during), metrics: {} };
    }
    const update = await updatePreferences(trainer, pairsOf(samples), preferences, adamw, during);
    const metrics = {
      [METRIC.preferenceAccuracy]: update.accuracy,
      [METRIC.preferenceMargin]: update.margin,
      "sft/chosen_reward": update.chosenReward,
      "sft/rejected_reward": update.rejectedReward,
    };
    return { ...update, metrics };
  }

  async evaluate(step: number): Promise<Evaluated> {
    const { metrics, choice } = await this.measurement.measure(step);
    const { stop_at_accuracy, measure_start, measure_end } = this.config.schedule;
    this.#isReached = choice !== null && this.choosesHighest && choice >= stop_at_accuracy;
    const isEnd = this.#isReached || step === this.totalSteps;
    const measured = isEnd ? measure_end : step === 0 ? measure_start : 0;
    const learnable = await this.measurement.measureLearnability(measured);
    return {
      metrics: { ...metrics, ...(learnable && learnabilityMetrics(learnable)) },
      parts: {},
      choice,
      // Before the first update there is: that is what fine-tuning is for.
      warning: learnable && isEnd ? nothingToLearn(learnable) : null,
    };
  }

  async writeModels(folder: RunFolder, which: "weights" | "best"): Promise<void> {
    const { config } = this;
    await this.save(which === "best" ? folder.best(config.policy) : sftWeights(folder, config));
  }

  modelFolder(folder: RunFolder): string {
    return sftWeights(folder, this.config);
  }

  /** Writes a model folder that `transformers` opens, or an adapter's. All ranks call it. */
  async save(folder: string): Promise<void> {
    await writeModelFolder(folder, onEveryRank(this.ranks, this.loaded), {
      ...judgmentLabelsFile(this.#judgmentLabels),
      ...fineTuningFile(this.config),
    });
  }

  modelKey(): string {
    return "initial_model or lora";
  }

  state(): z.output<typeof stateSchema> {
    const { position } = this.examples;
    const own = this.own?.state() ?? null;
    return { step: this.#step, position, isReached: this.#isReached, own };
  }

  adopt(checkpoint: StoredCheckpoint): void {
    const { step, position, isReached, own } = checkpoint.state(stateSchema);
    this.#step = step;
    this.#isReached = isReached;
    this.examples.position = position;
    this.own?.adopt(own);
  }

  close(): void {
    this.#opened.dispose();
  }

  #adamw(step: number): AdamwNumbers {
    const optimizer = camelCased(this.config.optimizer);
    const { totalSteps } = this;
    return { ...optimizer, learningRate: learningRateAt({ ...optimizer, totalSteps }, step - 1) };
  }

  /** Where the judgments come from that the verifier has imitated by then: gold ones are not forgotten. */
  get #judgmentLabels(): JudgmentLabels | null {
    const { policy, initial_model, judgment_labels } = this.config;
    if (policy === "generator") return null;
    const before = initial_model === null ? null : readJudgmentLabels(initial_model);
    return before === "gold" ? before : judgment_labels;
  }
}
