import { camelCased } from "../../base/camel_cased.ts";
import { alone, type Communicator } from "../../distributed/communicator.ts";
import { gradientReducer } from "../../distributed/gradient_reducer.ts";
import { onEveryRank, type Placed } from "../../distributed/placed.ts";
import type { Reducer } from "../../engine/training/reducer.ts";
import { Trainer } from "../../engine/training/trainer.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { ParameterCount } from "../../model/decoder/model.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import { type LoadedModel, loadModelFolder } from "../../model/weights/model_folder.ts";
import { learningRateAt } from "../../rl/schedule/learning_rate.ts";
import type { DuringPhase } from "../../rl/schedule/step_phase.ts";
import { updateSupervised } from "../../rl/update/supervised_update.ts";
import { changeSftConfig } from "../config/changeable.ts";
import { frozenStorage } from "../config/frozen_storage.ts";
import { trainerOptions } from "../config/loss_options.ts";
import { requireShards } from "../config/placement.ts";
import type { JudgmentLabels, SftConfig } from "../config/sft_config_schema.ts";
import { betweenSteps } from "../control/between_steps.ts";
import { ConfigHistory } from "../control/config_history.ts";
import { LiveConfig } from "../control/live_config.ts";
import { RunControl } from "../control/run_control.ts";
import { RunEvents } from "../events/run_events.ts";
import { tellMeasured } from "../events/tell_measured.ts";
import { gradientTrouble, PolicyHealth } from "../health/policy_health.ts";
import type { Examples } from "../problems/examples.ts";
import { betterOf, findLostBest } from "../store/best.ts";
import { readJudgmentLabels } from "../store/judgment_labels.ts";
import { METRIC } from "../store/metric_names.ts";
import { describeDeviceChange, type RunDevice, runDeviceOf } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { writeModelFolder } from "../store/weights_folder.ts";
import type { StepClock } from "../trace/run_timeline.ts";
import { newModel } from "./new_model.ts";
import { openExamples } from "./open_examples.ts";
import { SftMeasurement } from "./sft_measurement.ts";
import { initialSftState, loadSftState, saveSftState, type SftState } from "./sft_state.ts";
import type { TaskMeasurement } from "./task_measurement.ts";

/** Who follows a fine-tuning. */
export interface SftSurroundings {
  /** Told what happens. */
  readonly events?: RunEvents;
  /** Asked between updates. */
  readonly control?: RunControl;
  /** Asked at the end of each update who waited, and how long. */
  readonly timeline?: StepClock;
}

/** Where the weights of a fine-tuning go. */
export function sftWeights(folder: RunFolder, config: SftConfig): string {
  return config.output_directory ?? folder.weights(config.policy);
}

/** What a fine-tuning goes through while it trains. */
interface Course {
  readonly folder: RunFolder;
  readonly events: RunEvents;
  readonly health: PolicyHealth;
  readonly live: LiveConfig<SftConfig>;
  readonly timeline: StepClock | undefined;
}

/** Supervised fine-tuning of one policy from random or given weights, by one rank or by several together. */
export class SftRun {
  readonly trainer: Trainer;
  readonly measurement: SftMeasurement;
  #opened = new DisposableStack();
  #state: SftState = initialSftState;
  /** What is another matter than in the checkpoint, and what was lost. */
  #warnings: readonly string[] = [];

  /**
   * Loads or makes the model.
   *
   * @param ranks all of the run, which all call it
   * @param reducer through which they train
   * @throws UserError when a file the configuration names is missing or unsound, or a batch has fewer parts
   *   than there are ranks
   */
  static async open(
    gpu: Gpu,
    config: SftConfig,
    ranks: Communicator = alone,
    reducer = gradientReducer(ranks),
  ): Promise<SftRun> {
    requireShards(config.reduction.shards, ranks.size, "the model");
    const loaded = config.initial_model === null
      ? newModel(gpu, config)
      : await loadModelFolder(gpu, config.initial_model, {
        trained: true,
        lora: config.lora,
        seed: config.seed,
        storage: frozenStorage(config.frozen_dtype),
      });
    using opened = new DisposableStack();
    opened.defer(() => loaded.model.release());
    const { examples, measurement } = await openExamples(config, loaded, ranks);
    opened.use(examples);
    const run = new SftRun(config, ranks, loaded, examples, measurement, reducer);
    run.#state = { ...initialSftState, device: runDeviceOf(gpu, [loaded.model]) };
    opened.defer(() => run.trainer.release());
    run.#opened = opened.move();
    return run;
  }

  private constructor(
    private readonly config: SftConfig,
    private readonly ranks: Communicator,
    private readonly loaded: LoadedModel,
    readonly examples: Examples,
    onTask: TaskMeasurement | null,
    reducer: Reducer,
  ) {
    const loss = { ...config.loss, share_prompts: false };
    const options = trainerOptions({ ...config, loss });
    this.trainer = new Trainer(loaded.model, options, reducer);
    this.measurement = new SftMeasurement(config, this.trainer, examples, onTask);
  }

  /** Updates done so far. */
  get step(): number {
    return this.#state.step;
  }

  /** What it computes on. */
  get device(): RunDevice {
    if (this.#state.device === null) throw new Error("a run without a device");
    return this.#state.device;
  }

  /** Number of the model's parameters. */
  get parameterCount(): ParameterCount {
    return this.loaded.model.parameterCount;
  }

  /** Updates in all, unless stopped earlier. */
  get #steps(): number {
    const { batch_size, schedule: { total_training_steps, epochs } } = this.config;
    const { count } = this.examples;
    if (epochs === null || count === null) return total_training_steps;
    return Math.min(total_training_steps, Math.max(1, Math.floor(epochs * count / batch_size)));
  }

  get #isDone(): boolean {
    return this.#state.isReached || this.step >= this.#steps;
  }

  /**
   * Trains until the accuracy is reached, the steps are done, or it is asked to stop; then saves.
   *
   * @param folder for checkpoints and weights
   * @returns whether it came to its end
   */
  async train(
    folder: RunFolder,
    { events = new RunEvents(), control = new RunControl(), timeline }: SftSurroundings = {},
  ): Promise<boolean> {
    const { policy, optimizer } = this.config;
    const steps = this.#steps;
    const watched = {
      engine: onEveryRank(this.ranks, this.loaded),
      optimizerKey: "optimizer",
      maximumSkipped: optimizer.maximum_skipped_updates,
    };
    const health = new PolicyHealth({ [policy]: watched }, events);
    health.skippedInARow = this.#state.skippedInARow;
    const history = new ConfigHistory(folder.history, this.config, changeSftConfig);
    const live = new LiveConfig(this.ranks, history, this.step);
    using _door = live.open(control, steps);
    const course: Course = { folder, events, health, live, timeline };
    events.emit({ type: "started", step: this.step, total: steps, ranks: this.ranks.size });
    for (const message of this.#warnings) {
      events.emit({ type: "warning", step: this.step, message });
    }
    if (this.step === 0) await this.#evaluate(course);
    while (!this.#isDone) {
      const step = this.step + 1;
      await live.begin(step, events);
      const { test_frequency, save_frequency } = live.current.schedule;
      await this.#update(step, course);
      if (step % test_frequency === 0 || step === steps) await this.#evaluate(course);
      const isSaveDue = save_frequency > 0 && step % save_frequency === 0;
      const isLast = this.#isDone;
      const isStopping = await betweenSteps(this.ranks, control, events, {
        step,
        isLast,
        isSaveDue: isSaveDue && !isLast && health.isWorthSaving(step),
        save: () => this.#save(course),
      });
      if (isStopping) break;
    }
    const reachedEnd = this.#isDone;
    if (reachedEnd) {
      await health.requireSound(this.step);
      await this.save(sftWeights(folder, this.config));
    }
    await timeline?.runEnd();
    events.emit({ type: "finished", step: this.step, reachedEnd });
    return reachedEnd;
  }

  async #update(step: number, { events, health, live, timeline }: Course): Promise<void> {
    const { policy, batch_size } = this.config;
    const adamw = this.#adamw(live.current, step);
    const began = performance.now();
    const samples = this.examples.draw(step, batch_size);
    const during: DuringPhase = (phase, body) => events.during(step, phase, body);
    const { loss, gradientNorm, nonFinite, tokens } = await during(
      "update",
      () => updateSupervised(this.trainer, samples, adamw, during),
    );
    const seconds = (performance.now() - began) / 1000;
    const { epochs } = this.examples;
    const isApplied = nonFinite === 0;
    tellMeasured(events, {
      type: "step",
      step,
      phase: policy,
      metrics: {
        [METRIC.supervisedLoss]: loss,
        "sft/grad_norm": gradientNorm,
        "sft/non_finite_gradients": nonFinite,
        "sft/skipped_updates": isApplied ? 0 : 1,
        "sft/learning_rate": adamw.learningRate,
        "sft/tokens": tokens,
        ...(epochs === null ? {} : { "data/epochs": epochs }),
      },
      timings: {
        [METRIC.stepSeconds]: seconds,
        [METRIC.tokensPerSecond]: tokens / seconds,
        ...await timeline?.stepEnd(seconds),
      },
    });
    this.#state = { ...this.#state, step };
    health.remember(policy, samples[0]);
    const what = gradientTrouble(nonFinite);
    health.count(step, { learner: policy, policy, applied: [isApplied], what });
  }

  async #evaluate({ folder, events, health }: Course): Promise<void> {
    const { policy, schedule: { keep_best, stop_at_accuracy } } = this.config;
    const evaluation = await events.during(
      this.step,
      "evaluation",
      () => this.measurement.measure(this.step),
    );
    const { step, choice, metrics } = evaluation;
    tellMeasured(events, { type: "evaluation", step, metrics });
    if (choice === null) return;
    const { choosesByAccuracy } = this.measurement;
    const found = { step, value: choice };
    const best = Number.isFinite(choice)
      ? betterOf(this.#state.best, found, choosesByAccuracy)
      : this.#state.best;
    const isReached = choosesByAccuracy && choice >= stop_at_accuracy;
    this.#state = { ...this.#state, best, isReached };
    const isBest = keep_best && best === found;
    if (isBest && await health.maySave(step)) await this.save(folder.best(policy));
  }

  #adamw(config: SftConfig, step: number): AdamwNumbers {
    const optimizer = camelCased(config.optimizer);
    const totalSteps = this.#steps;
    return { ...optimizer, learningRate: learningRateAt({ ...optimizer, totalSteps }, step - 1) };
  }

  /** Where the judgments come from that the verifier has imitated by then: gold ones are not forgotten. */
  get #judgmentLabels(): JudgmentLabels | null {
    const { policy, initial_model, judgment_labels } = this.config;
    if (policy === "generator") return null;
    const before = initial_model === null ? null : readJudgmentLabels(initial_model);
    return before === "gold" ? before : judgment_labels;
  }

  /** Writes a model folder that `transformers` opens, or an adapter's. All ranks call it. */
  async save(folder: string): Promise<void> {
    const loaded = onEveryRank(this.ranks, this.loaded);
    await writeModelFolder(folder, loaded, this.#judgmentLabels);
  }

  async #save({ folder, events, health }: Course): Promise<void> {
    const { step } = this;
    if (!(await health.maySave(step))) return;
    const { policy, schedule: { keep_checkpoints } } = this.config;
    const { position } = this.examples;
    this.#state = { ...this.#state, position, skippedInARow: health.skippedInARow };
    const path = await events.during(
      step,
      "checkpoint",
      () => saveSftState(folder.checkpoints, policy, this.#trained, this.#state, keep_checkpoints),
    );
    events.emit({ type: "checkpoint", step, path });
  }

  get #trained(): Placed<Trainer> {
    return onEveryRank(this.ranks, this.trainer);
  }

  /**
   * Goes on from a checkpoint; all ranks call it.
   *
   * @param folder of the run
   * @param path of the checkpoint
   * @throws UserError as `loadSftState` does; the run may then not be used any more
   */
  async restore(folder: RunFolder, path: string): Promise<void> {
    const { policy } = this.config;
    const state = await loadSftState(path, policy, this.#trained);
    const { device } = this.#state;
    const change = state.device && device && describeDeviceChange(state.device, device);
    const lostBest = await findLostBest(this.ranks, state.best, [folder.best(policy)]);
    this.#warnings = [change, lostBest].filter((message) => message !== null);
    this.#state = { ...state, device, best: lostBest === null ? state.best : null };
    this.examples.position = this.#state.position;
  }

  /** Returns the GPU memory and closes the files with examples. */
  close(): void {
    this.#opened.dispose();
  }
}
