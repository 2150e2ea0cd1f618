import { isDeepStrictEqual } from "node:util";
import { camelCased } from "../../base/camel_cased.ts";
import { severalErrors } from "../../base/several_errors.ts";
import { alone, type Communicator } from "../../distributed/communicator.ts";
import { madeOf } from "../../distributed/placed.ts";
import { broadcastValue, gatherValues } from "../../distributed/values.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { GpuFailure } from "../../gpu/gpu_failure.ts";
import type { ParameterCount } from "../../model/decoder/model.ts";
import { nextStep, positionAfter, type TangoStep } from "../../rl/schedule/tango_schedule.ts";
import { changeTangoConfig } from "../config/changeable.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { betweenSteps } from "../control/between_steps.ts";
import { ConfigHistory } from "../control/config_history.ts";
import { LiveConfig } from "../control/live_config.ts";
import { RunControl } from "../control/run_control.ts";
import { RunEvents } from "../events/run_events.ts";
import { tellMeasured } from "../events/tell_measured.ts";
import { PolicyHealth } from "../health/policy_health.ts";
import { openProblems, requirementsOf } from "../problems/open_problems.ts";
import type { Problems } from "../problems/problems.ts";
import { betterOf, findLostBest } from "../store/best.ts";
import { latestCheckpoint } from "../store/checkpoint.ts";
import { METRIC } from "../store/metric_names.ts";
import type { Metrics } from "../store/metrics_log.ts";
import { describeDeviceChange, type RunDevice, runDeviceOf } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { StepClock } from "../trace/run_timeline.ts";
import { readJudgmentLabels } from "../store/judgment_labels.ts";
import { initialState, loadRunState, type RunState, saveRunState } from "./run_state.ts";
import { writeModelFolder } from "../store/weights_folder.ts";
import { type CustomReward, openReward } from "./custom_reward.ts";
import { HeldOutEvaluation } from "./held_out_evaluation.ts";
import { modelsOf, openPolicies, type Policies, promptFitOf, releasePolicies } from "./policies.ts";
import { evaluationSamples } from "./step_samples.ts";
import {
  type StepContext,
  type StepOutcome,
  trainGenerator,
  trainVerifier,
} from "./training_steps.ts";
import { updatesOf, watchedPolicies } from "./watched_policies.ts";

/** What a run lives in. */
export interface RunSurroundings {
  /** Goes on from the newest complete checkpoint in the folder. */
  readonly resume: boolean;
  /** Told what happens. */
  readonly events?: RunEvents;
  /** Asked between steps; of several ranks the first one's is. */
  readonly control?: RunControl;
  /** Asked at the end of each step who waited, and how long. */
  readonly timeline?: StepClock;
  /** All ranks of the run; by default this process alone. */
  readonly ranks?: Communicator;
}

/**
 * A training run: the Tango schedule over two policies, with its evaluations and checkpoints. All it
 * computes depends on the configuration alone, so a resumed run goes on bit for bit. Every rank goes through
 * the same steps; only the first one writes.
 */
export class TangoRun {
  readonly #live: LiveConfig<TangoConfig>;
  readonly #problems: Problems;
  readonly #policies: Policies;
  #heldOut: HeldOutEvaluation;
  readonly #events: RunEvents;
  readonly #control: RunControl;
  readonly #timeline: StepClock | undefined;
  readonly #ranks: Communicator;
  readonly #health: PolicyHealth;
  #opened = new DisposableStack();
  #state: RunState;
  /** What is another matter than in the checkpoint, and what was lost. */
  #warnings: readonly string[] = [];
  /** The last step whose log lines stay, see `JsonLinesLog`; undefined in a new run. */
  readonly lastLoggedStep: number | undefined;

  /**
   * Loads the models, and with `resume` the newest complete checkpoint.
   *
   * @throws UserError when a file the configuration names is missing or unsound
   */
  static async open(
    gpu: Gpu,
    config: TangoConfig,
    folder: RunFolder,
    surroundings: RunSurroundings,
  ): Promise<TangoRun> {
    const { resume, ranks = alone } = surroundings;
    const reward = await openReward(config.rewards.module);
    using opened = new DisposableStack();
    const policies = await openPolicies(gpu, config, { ranks });
    opened.defer(() => releasePolicies(policies));
    const requires = requirementsOf(config);
    const problems = opened.use(await openProblems(config, promptFitOf(policies), requires));
    const checkpoint = await broadcastValue(
      ranks,
      resume && ranks.rank === 0 ? latestCheckpoint(folder.checkpoints) : null,
    );
    const state = checkpoint ? await loadRunState(checkpoint.path, policies) : initialState();
    const names = (["generator", "verifier"] as const).filter((name) => policies[name]?.isTrained);
    const lostBest = await findLostBest(ranks, state.best, names.map((name) => folder.best(name)));
    if (lostBest !== null) state.best = null;
    // A run that died before its first checkpoint starts over, its logs too.
    const lastLoggedStep = resume ? checkpoint?.step ?? -1 : undefined;
    const device = runDeviceOf(gpu, modelsOf(policies));
    const change = state.device && describeDeviceChange(state.device, device);
    const run = new TangoRun(config, folder, policies, problems, reward, surroundings, {
      state: { ...state, device },
      lastLoggedStep,
    });
    run.#warnings = [change, lostBest].filter((message) => message !== null);
    run.#opened = opened.move();
    return run;
  }

  /** What it computes on. */
  get device(): RunDevice {
    if (this.#state.device === null) throw new Error("a run without a device");
    return this.#state.device;
  }

  private constructor(
    config: TangoConfig,
    private readonly folder: RunFolder,
    policies: Policies,
    problems: Problems,
    private readonly reward: CustomReward | null,
    {
      events = new RunEvents(),
      control = new RunControl(),
      timeline,
      ranks = alone,
    }: RunSurroundings,
    { state, lastLoggedStep }: Pick<TangoRun, "lastLoggedStep"> & { readonly state: RunState },
  ) {
    this.#events = events;
    this.#control = control;
    this.#timeline = timeline;
    this.#ranks = ranks;
    this.#problems = problems;
    this.#policies = policies;
    const history = new ConfigHistory(folder.history, config, changeTangoConfig);
    this.#live = new LiveConfig(ranks, history, state.position.globalSteps);
    this.#heldOut = new HeldOutEvaluation(this.#config, problems);
    this.#health = new PolicyHealth(watchedPolicies(config, policies), events);
    this.#health.skippedInARow = state.skippedInARow;
    this.#state = state;
    problems.position = state.problemPosition;
    this.lastLoggedStep = lastLoggedStep;
  }

  /** Steps done so far. */
  get globalSteps(): number {
    return this.#state.position.globalSteps;
  }

  /**
   * Trains to the end or until asked to stop, and then saves.
   *
   * @returns whether the run reached its last step
   */
  async train(): Promise<boolean> {
    const { total_training_steps: total } = this.#config.schedule;
    using _door = this.#live.open(this.#control, total);
    this.#events.emit({ type: "started", step: this.globalSteps, total, ranks: this.#ranks.size });
    for (const message of this.#warnings) {
      this.#events.emit({ type: "warning", step: this.globalSteps, message });
    }
    let reachedEnd = true;
    for (;;) {
      const step = await this.#begin();
      if (!step) break;
      if (step.evaluateBefore) await this.#evaluate(0);
      const started = performance.now();
      const outcome = await this.#stepOrSave(step);
      await this.#tell(step, outcome, (performance.now() - started) / 1000);
      this.#state.position = positionAfter(this.#schedule, this.#state.position, step);
      this.#health.count(step.globalStep, updatesOf(step.phase, outcome.learned));
      if (step.evaluateAfter) await this.#evaluate(step.globalStep);
      const isLast = nextStep(this.#schedule, this.#state.position) === null;
      const isStopping = await betweenSteps(this.#ranks, this.#control, this.#events, {
        step: step.globalStep,
        isLast,
        isSaveDue: step.saveAfter && !isLast && this.#health.isWorthSaving(step.globalStep),
        save: () => this.#save(),
      });
      reachedEnd = isLast;
      if (isStopping) break;
    }
    if (reachedEnd) {
      await this.#health.requireSound(this.globalSteps);
      await this.#writeModels((name) => this.folder.weights(name));
    }
    await this.#timeline?.runEnd();
    this.#events.emit({ type: "finished", step: this.globalSteps, reachedEnd });
    return reachedEnd;
  }

  /** What holds in the present step. */
  get #config(): TangoConfig {
    return this.#live.current;
  }

  get #schedule() {
    return camelCased(this.#config.schedule);
  }

  /** The next step, with the settings that hold from it on; null when all are done. */
  async #begin(): Promise<TangoStep | null> {
    if (await this.#live.begin(this.globalSteps + 1, this.#events)) {
      this.#heldOut = new HeldOutEvaluation(this.#config, this.#problems);
    }
    return nextStep(this.#schedule, this.#state.position);
  }

  /**
   * Does a step. One that fails before it has changed weights takes none of the earlier ones with it: they are saved.
   * Several ranks do not agree on where it failed, so that theirs go on from the last checkpoint.
   */
  async #stepOrSave(step: TangoStep): Promise<StepOutcome> {
    const weights = () => modelsOf(this.#policies).map(({ weightsVersion }) => weightsVersion);
    const before = { problems: this.#problems.position, weights: weights() };
    try {
      return await this.#step(step);
    } catch (error) {
      const isSavable = this.#ranks.size === 1 && !(error instanceof GpuFailure) &&
        isDeepStrictEqual(weights(), before.weights) &&
        this.globalSteps > (latestCheckpoint(this.folder.checkpoints)?.step ?? 0);
      if (!isSavable) throw error;
      this.#problems.position = before.problems;
      try {
        await this.#save();
      } catch (second) {
        throw severalErrors([error, second], "a step failed, and so did saving those before it");
      }
      throw error;
    }
  }

  async #step(step: TangoStep): Promise<StepOutcome> {
    const context: StepContext = {
      config: this.#config,
      policies: this.#policies,
      problems: this.#problems,
      reward: this.reward,
      next: nextStep(this.#schedule, positionAfter(this.#schedule, this.#state.position, step)),
      during: (phase, body) => this.#events.during(step.globalStep, phase, body),
    };
    const train = step.phase === "generator" ? trainGenerator : trainVerifier;
    const outcome = await train(context, step, this.#state.classCounts);
    const { generator, verifier } = outcome.answers;
    if (generator) this.#health.remember("generator", generator);
    if (verifier) this.#health.remember("verifier", verifier);
    this.#state.classCounts = outcome.classCounts;
    return outcome;
  }

  /** What became of the rows of the files that problems come from; null for an embedded task. */
  get dataReport(): string | null {
    return this.#problems.report;
  }

  /** Parameters of each policy; the verifier's are null when there is none. */
  get parameterCounts(): {
    readonly generator: ParameterCount;
    readonly verifier: ParameterCount | null;
  } {
    const { generator, verifier } = this.#policies;
    return {
      generator: generator.parameterCount,
      verifier: verifier && verifier.parameterCount,
    };
  }

  /** Returns the GPU memory and closes the files with problems. */
  close(): void {
    this.#opened.dispose();
  }

  async #tell(
    { globalStep: step, phase }: TangoStep,
    { metrics, samples, tokens }: StepOutcome,
    seconds: number,
  ): Promise<void> {
    const timings = {
      [METRIC.stepSeconds]: seconds,
      [METRIC.tokensPerSecond]: tokens / seconds,
      ...await this.#countTimeouts(),
      ...await this.#timeline?.stepEnd(seconds),
    };
    tellMeasured(this.#events, { type: "step", step, phase, metrics, timings });
    this.#events.emit({ type: "samples", step, samples });
  }

  /** Answers of files that took too long to compare, whichever rank graded them. */
  async #countTimeouts(): Promise<Metrics> {
    const { epochs, timeouts } = this.#problems;
    if (epochs === null) return {};
    const counts = await gatherValues(this.#ranks, timeouts);
    return { "data/answer_timeouts": counts.reduce((sum, count) => sum + count, 0) };
  }

  async #save(): Promise<void> {
    const step = this.globalSteps;
    if (!(await this.#health.maySave(step))) return;
    this.#state.skippedInARow = this.#health.skippedInARow;
    this.#state.problemPosition = this.#problems.position;
    const { keep_checkpoints: keep } = this.#config.schedule;
    const path = await this.#events.during(
      step,
      "checkpoint",
      () => saveRunState(this.folder.checkpoints, this.#policies, this.#state, keep),
    );
    this.#events.emit({ type: "checkpoint", step, path });
  }

  async #writeModels(folder: (name: "generator" | "verifier") => string): Promise<void> {
    const { generator, verifier } = this.#policies;
    const start = this.#config.verifier?.model;
    const labels = { generator: null, verifier: start ? readJudgmentLabels(start) : null };
    for (const [name, policy] of [["generator", generator], ["verifier", verifier]] as const) {
      if (!policy?.isTrained) continue;
      const { tokenizer, stopTokens } = policy;
      const loaded = madeOf(policy.engine, ({ model }) => ({ model, tokenizer, stopTokens }));
      await writeModelFolder(folder(name), loaded, labels[name]);
    }
  }

  /** Measures both policies on the held-out problems, and where the best weights are kept, for them. */
  async #evaluate(globalStep: number): Promise<void> {
    const { generator, verifier } = this.#policies;
    const { keep_best } = this.#config.schedule;
    const { solved, judged, choice } = await this.#events.during(
      globalStep,
      "evaluation",
      async () => ({
        solved: await this.#heldOut.measureGenerator(generator, globalStep),
        judged: verifier && await this.#heldOut.measureVerifier(verifier, generator, globalStep),
        choice: keep_best ? await this.#heldOut.validate(generator, globalStep) : null,
      }),
    );
    const metrics = {
      ...solved.metrics,
      ...judged?.metrics,
      ...(choice === null ? {} : { [METRIC.validationAccuracy]: choice }),
    };
    tellMeasured(this.#events, { type: "evaluation", step: globalStep, metrics });
    const { solutions, critiques } = judged ?? { ...solved, critiques: [] };
    const { samples_per_step } = this.#config;
    const { source } = this.#problems;
    const samples = evaluationSamples(globalStep, source, solutions, critiques, samples_per_step);
    this.#events.emit({ type: "samples", step: globalStep, samples });
    if (choice === null) return;
    const found = { step: globalStep, value: choice };
    this.#state.best = betterOf(this.#state.best, found, true);
    if (this.#state.best === found && await this.#health.maySave(globalStep)) {
      await this.#writeModels((name) => this.folder.best(name));
    }
  }
}
