import { camelCased } from "../../base/camel_cased.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { Model, ParameterCount } from "../../model/decoder/model.ts";
import { type LoadedModel, loadModelFolder } from "../../model/weights/model_folder.ts";
import { Trainer } from "../../engine/training/trainer.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import { learningRateAt } from "../../rl/learning_rate.ts";
import { generatorTemplate, verifierTemplate } from "../../rl/prompt_template.ts";
import { supervisedLoss, updateSupervised } from "../../rl/supervised_update.ts";
import { type Best, betterOf } from "../store/best.ts";
import { saveCheckpoint } from "../store/checkpoint.ts";
import { StoredCheckpoint } from "../store/stored_checkpoint.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { changeSftConfig } from "../config/changeable.ts";
import { betweenSteps } from "../control/between_steps.ts";
import { ConfigHistory, noStepLeft } from "../control/config_history.ts";
import { RunControl } from "../control/run_control.ts";
import { RunEvents } from "../events/run_events.ts";
import { tellMeasured } from "../events/tell_measured.ts";
import { PolicyHealth, type SkippedInARow } from "../health/policy_health.ts";
import { critiqueWording, solutionWording } from "../problems/example_wording.ts";
import type { Examples } from "../problems/examples.ts";
import { FileExamples } from "../problems/file_examples.ts";
import { frozenStorage } from "../config/frozen_storage.ts";
import { METRIC } from "../store/metric_names.ts";
import { newModel } from "./new_model.ts";
import { promptOf } from "../tango/policies.ts";
import {
  choosesWeights,
  type SftConfig,
  type VerifierLabels,
} from "../config/sft_config_schema.ts";
import type { Metrics } from "../tango/step_metrics.ts";
import { TaskExamples } from "../problems/task_examples.ts";
import { TaskMeasurement } from "./task_measurement.ts";
import { TaskProblems } from "../problems/task_problems.ts";
import { type OptimizerSteps, restoreTrained, trainedTensors } from "../store/trained_models.ts";
import { readJudgmentLabels } from "../store/judgment_labels.ts";
import { writeModelFolder } from "../store/weights_folder.ts";

/** What an evaluation during supervised fine-tuning found. */
export interface SftEvaluation {
  readonly step: number;
  /** Loss of the held-out examples, nats per token. */
  readonly loss: number;
  /**
   * What weights are chosen by, where they are, of the validation part: the generator's greedy accuracy, the
   * verifier's balanced accuracy, or on files the loss.
   */
  readonly choice: number | null;
  readonly metrics: Metrics;
}

/** Who follows a fine-tuning. */
export interface SftSurroundings {
  /** Told what happens. */
  readonly events?: RunEvents;
  /** Asked between updates. */
  readonly control?: RunControl;
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
}

/** Where a fine-tuning stands. */
type SftState = {
  readonly step: number;
  readonly position: number;
  readonly best: { readonly [key: string]: number } | null;
  /** True when the accuracy that ends it was reached. */
  readonly isReached: boolean;
  readonly optimizerSteps: OptimizerSteps;
  /** Absent in checkpoints of earlier versions, which were written only where nothing was skipped. */
  readonly skippedInARow?: { readonly [policy: string]: number };
};

/** Supervised fine-tuning of one policy from random or given weights. */
export class SftRun {
  readonly trainer: Trainer;
  #step = 0;
  #opened = new DisposableStack();
  #isReached = false;
  #skippedInARow: SkippedInARow = {};
  #best: Best | null = null;

  /**
   * Loads or makes the model.
   *
   * @throws UserError when a file the configuration names is missing or unsound
   */
  static async open(gpu: Gpu, config: SftConfig): Promise<SftRun> {
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
    const { examples, measurement } = await openExamples(config, loaded);
    opened.use(examples);
    const run = new SftRun(config, loaded, examples, measurement);
    opened.defer(() => run.trainer.release());
    run.#opened = opened.move();
    return run;
  }

  private constructor(
    /** What holds in the present step. */
    private config: SftConfig,
    private readonly loaded: LoadedModel,
    readonly examples: Examples,
    private readonly measurement: TaskMeasurement | null,
  ) {
    const { micro_batch_tokens, gradient_checkpointing } = config;
    this.trainer = new Trainer(loaded.model, {
      microBatchTokens: micro_batch_tokens,
      gradientCheckpointing: gradient_checkpointing,
      sharePrompts: false,
      ...config.reduction,
    });
  }

  get model(): Model {
    return this.loaded.model;
  }

  /** Updates done so far. */
  get step(): number {
    return this.#step;
  }

  /** Number of the model's parameters. */
  get parameterCount(): ParameterCount {
    return this.loaded.model.parameterCount;
  }

  /** Updates in all, unless stopped earlier. */
  get #steps(): number {
    const { steps, epochs, batch_size } = this.config;
    const { count } = this.examples;
    if (epochs === null || count === null) return steps;
    return Math.min(steps, Math.max(1, Math.floor(epochs * count / batch_size)));
  }

  get #isDone(): boolean {
    return this.#isReached || this.#step >= this.#steps;
  }

  /**
   * Trains until the accuracy is reached, the steps are done, or it is asked to stop; then saves.
   *
   * @param folder for checkpoints and weights
   * @returns whether it came to its end
   */
  async train(
    folder: RunFolder,
    { events = new RunEvents(), control = new RunControl() }: SftSurroundings = {},
  ): Promise<boolean> {
    const { policy, optimizer } = this.config;
    const steps = this.#steps;
    const watched = {
      model: this.model,
      optimizerKey: "optimizer",
      maximumSkipped: optimizer.maximum_skipped_updates,
    };
    const health = new PolicyHealth({ [policy]: watched }, events);
    health.skippedInARow = this.#skippedInARow;
    const course: Course = { folder, events, health };
    const history = new ConfigHistory(folder.history, this.config, changeSftConfig);
    this.config = history.at(this.#step);
    let begun = this.#step;
    using _door = control.open((settings) => {
      if (begun >= steps) throw noStepLeft();
      history.change(begun + 1, settings);
    });
    events.emit({ type: "started", step: this.#step, total: steps });
    if (this.#step === 0) await this.#evaluate(course);
    while (!this.#isDone) {
      const step = begun = this.#step + 1;
      const settings = history.changedAt(step);
      if (Object.keys(settings).length > 0) {
        this.config = history.at(step);
        events.emit({ type: "changed", step, settings });
      }
      const { evaluate_every, save_every } = this.config;
      await this.#update(step, course);
      if (step % evaluate_every === 0 || step === steps) await this.#evaluate(course);
      const isSaveDue = save_every > 0 && step % save_every === 0;
      const isStopping = await betweenSteps(control, events, {
        step,
        isLast: this.#isDone,
        isSaveDue: isSaveDue && health.isWorthSaving(step),
        save: () => this.#saveState(course),
      });
      if (isStopping) break;
    }
    const reachedEnd = this.#isDone;
    if (reachedEnd) {
      await health.requireSound(this.#step);
      await this.save(sftWeights(folder, this.config));
    }
    events.emit({ type: "finished", step: this.#step, reachedEnd });
    return reachedEnd;
  }

  async #update(step: number, { events, health }: Course): Promise<void> {
    const { policy, batch_size } = this.config;
    const adamw = this.#adamw(step);
    const began = performance.now();
    const samples = this.examples.draw(step, batch_size);
    const { loss, gradientNorm, nonFinite, tokens } = await events.during(
      step,
      "update",
      () => updateSupervised(this.trainer, samples, adamw),
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
      timings: { [METRIC.stepSeconds]: seconds, [METRIC.tokensPerSecond]: tokens / seconds },
    });
    this.#step = step;
    health.remember(policy, samples[0]);
    const what = `gradient has ${nonFinite} elements that are`;
    health.count(step, { learner: policy, policy, applied: [isApplied], what });
  }

  /** Measures the policy on held-out examples, and on an embedded task's problems. */
  async evaluate(): Promise<SftEvaluation> {
    const heldOut = this.examples.heldOut("test");
    const loss = await supervisedLoss(this.model, heldOut, this.trainer.options);
    const measured = await this.measurement?.measure(this.#step);
    const choice = choosesWeights(this.config) ? await this.#validate() : null;
    return {
      step: this.#step,
      loss,
      choice,
      metrics: {
        [METRIC.heldOutLoss]: loss,
        ...measured,
        ...(choice === null ? {} : { [this.#choiceName]: choice }),
      },
    };
  }

  /** Accuracy on an embedded task, else the loss. */
  async #validate(): Promise<number> {
    if (this.measurement) return await this.measurement.validate();
    const examples = this.examples.heldOut("validation");
    return await supervisedLoss(this.model, examples, this.trainer.options);
  }

  get #choiceName(): string {
    if (this.measurement === null) return METRIC.validationLoss;
    return this.config.policy === "generator"
      ? METRIC.validationAccuracy
      : METRIC.validationBalancedAccuracy;
  }

  async #evaluate({ folder, events, health }: Course): Promise<void> {
    const { policy, keep_best, stop_at_accuracy } = this.config;
    const evaluation = await events.during(this.#step, "evaluation", () => this.evaluate());
    const { step, choice, metrics } = evaluation;
    tellMeasured(events, { type: "evaluation", step, metrics });
    if (choice === null) return;
    const isAccuracy = this.measurement !== null;
    const found = { step, value: choice };
    if (Number.isFinite(choice)) this.#best = betterOf(this.#best, found, isAccuracy);
    this.#isReached = isAccuracy && choice >= stop_at_accuracy;
    const isBest = keep_best && this.#best === found;
    if (isBest && await health.maySave(step)) await this.save(folder.best(policy));
  }

  #adamw(step: number): AdamwNumbers {
    const optimizer = camelCased(this.config.optimizer);
    const totalSteps = this.#steps;
    return { ...optimizer, learningRate: learningRateAt({ ...optimizer, totalSteps }, step - 1) };
  }

  /** Where the judgments come from that the verifier has imitated by then: gold ones are not forgotten. */
  get #judgmentLabels(): VerifierLabels | null {
    const { policy, initial_model, verifier_labels } = this.config;
    if (policy === "generator") return null;
    const before = initial_model === null ? null : readJudgmentLabels(initial_model);
    return before === "gold" ? before : verifier_labels;
  }

  /** Writes a model folder that `transformers` opens, or an adapter's. */
  async save(folder: string): Promise<void> {
    await writeModelFolder(folder, this.loaded, this.#judgmentLabels);
  }

  /** Writes a checkpoint and removes those it supersedes. */
  async #saveState({ folder, events, health }: Course): Promise<void> {
    const step = this.#step;
    if (!(await health.maySave(step))) return;
    const path = await events.during(step, "checkpoint", async () => {
      const { tensors, optimizerSteps } = trainedTensors(this.#trained);
      const state: SftState = {
        step,
        position: this.examples.position,
        best: this.#best && { ...this.#best },
        isReached: this.#isReached,
        optimizerSteps,
        skippedInARow: { ...health.skippedInARow },
      };
      const { keep_checkpoints } = this.config;
      return await saveCheckpoint(folder.checkpoints, { step, tensors, state }, keep_checkpoints);
    });
    events.emit({ type: "checkpoint", step, path });
  }

  /**
   * Goes on from a checkpoint.
   *
   * @throws UserError when it is damaged or was made with another model than the configuration names;
   *   the run may then not be used any more
   */
  async restore(path: string): Promise<void> {
    const checkpoint = new StoredCheckpoint<SftState>(path);
    const { state } = checkpoint;
    await restoreTrained(
      checkpoint,
      state.optimizerSteps,
      this.#trained,
      () => "initial_model or lora",
    );
    this.#step = state.step;
    this.#isReached = state.isReached;
    this.#skippedInARow = state.skippedInARow ?? {};
    this.#best = state.best as unknown as Best | null;
    this.examples.position = state.position;
  }

  get #trained() {
    return { [this.config.policy]: this.trainer };
  }

  /** Returns the GPU memory and closes the files with examples. */
  close(): void {
    this.#opened.dispose();
  }
}

async function openExamples(
  config: SftConfig,
  loaded: LoadedModel,
): Promise<{ examples: Examples; measurement: TaskMeasurement | null }> {
  const { tokenizer } = loaded;
  const { data, chat, system_prompt, initial_model } = config;
  const said = { model: initial_model ?? "the new model", chat, system_prompt };
  const { prompt: generator, turnEnd } = promptOf(
    said,
    generatorTemplate(config.generator_prompt_template),
    tokenizer,
  );
  const written = verifierTemplate(config.verifier_prompt_template);
  const { prompt: verifier } = promptOf(said, written, tokenizer);
  if (data !== null) {
    const { maxPositions } = loaded.model.config;
    const wording = config.policy === "generator"
      ? solutionWording(generator, data.response)
      : critiqueWording(verifier, config.correct_share, config.verifier_labels);
    const form = { tokenizer, wording, turnEnd, maxPositions };
    const examples = await FileExamples.open({ ...config, data }, form);
    return { examples, measurement: null };
  }
  const problems = new TaskProblems(config.task, config.seed, config.evaluation);
  const examples = new TaskExamples(problems, tokenizer, {
    seed: config.seed,
    evaluationSeed: config.evaluation.seed,
    policy: config.policy,
    generatorTemplate: generator,
    verifierTemplate: verifier,
    turnEnd,
    correctShare: config.correct_share,
    verifierLabels: config.verifier_labels,
    judgmentWeight: config.judgment_weight,
  });
  const templates = { generator, verifier };
  const measured = { ...loaded, stopTokens: withTurnEnd(loaded.stopTokens, turnEnd) };
  const measurement = new TaskMeasurement(config, problems, examples, measured, templates);
  return { examples, measurement };
}
