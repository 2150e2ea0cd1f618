import type { Sampling } from "../../engine/rollout.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { streams } from "../../random/philox.ts";
import type { ParameterCount } from "../../model/decoder/model.ts";
import { camelCased } from "../../base/camel_cased.ts";
import { alphaAt } from "../../rl/alpha_schedule.ts";
import { generatorStep } from "../../rl/generator_step.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import { learningRateAt } from "../../rl/learning_rate.ts";
import type { DuringPhase } from "../../rl/step_phase.ts";
import {
  countGeneratorSteps,
  generatorStepsAfterWarmup,
  nextStep,
  positionAfter,
  type TangoScheduleOptions,
  type TangoStep,
} from "../../rl/tango_schedule.ts";
import { verifierStep } from "../../rl/verifier_step.ts";
import type { Learned } from "../../rl/learn_from.ts";
import type { Policy, PolicyName } from "../../rl/policy.ts";
import type { Solution } from "../../rl/responses.ts";
import { tellMeasured } from "../events/tell_measured.ts";
import { PolicyHealth, type StepUpdates, type WatchedPolicy } from "../health/policy_health.ts";
import { betterOf } from "../store/best.ts";
import { latestCheckpoint } from "../store/checkpoint.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { HeldOutEvaluation, rolloutSampling } from "./held_out_evaluation.ts";
import { lossOptions } from "../config/loss_options.ts";
import { METRIC } from "../store/metric_names.ts";
import { openPolicies, type Policies, promptFitOf, releasePolicies } from "./policies.ts";
import { openProblems, requirementsOf } from "../problems/open_problems.ts";
import type { Problems } from "../problems/problems.ts";
import { type CustomReward, openReward } from "./custom_reward.ts";
import { betweenSteps } from "../control/between_steps.ts";
import { RunControl } from "../control/run_control.ts";
import { RunEvents } from "../events/run_events.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { readJudgmentLabels } from "../store/judgment_labels.ts";
import { writeModelFolder } from "../store/weights_folder.ts";
import { initialState, loadRunState, type RunState, saveRunState } from "../store/run_state.ts";
import type { Sample } from "../store/samples_log.ts";
import { generatorMetrics, type Metrics, verifierStepMetrics } from "./step_metrics.ts";
import { evaluationSamples, generatorSamples, verifierSamples } from "./step_samples.ts";

/** What one step tells. */
interface StepOutcome {
  readonly metrics: Metrics;
  readonly samples: readonly Sample[];
  /** Tokens sampled and trained on. */
  readonly tokens: number;
  readonly learned: Learned;
}

/** A response to a prompt. */
type Written = Pick<Solution<unknown>, "prompt" | "rollout">;

/** What a run lives in. */
export interface RunSurroundings {
  /** Goes on from the newest complete checkpoint in the folder. */
  readonly resume: boolean;
  /** Told what happens. */
  readonly events?: RunEvents;
  /** Asked between steps. */
  readonly control?: RunControl;
}

/**
 * A training run: the Tango schedule over two policies, with its evaluations and checkpoints. All it
 * computes depends on the configuration alone, so a resumed run goes on bit for bit.
 */
export class TangoRun {
  readonly #schedule: TangoScheduleOptions;
  readonly #problems: Problems;
  readonly #policies: Policies;
  readonly #heldOut: HeldOutEvaluation;
  readonly #events: RunEvents;
  readonly #control: RunControl;
  readonly #health: PolicyHealth;
  #opened = new DisposableStack();
  #state: RunState;
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
    const reward = await openReward(config.rewards.module);
    using opened = new DisposableStack();
    const policies = await openPolicies(gpu, config);
    opened.defer(() => releasePolicies(policies));
    const requires = requirementsOf(config);
    const problems = opened.use(await openProblems(config, promptFitOf(policies), requires));
    const checkpoint = surroundings.resume ? latestCheckpoint(folder.checkpoints) : null;
    const state = checkpoint ? await loadRunState(checkpoint.path, policies) : initialState();
    // A run that died before its first checkpoint starts over, its logs too.
    const lastLoggedStep = surroundings.resume ? checkpoint?.step ?? -1 : undefined;
    const run = new TangoRun(config, folder, policies, problems, reward, surroundings, {
      state,
      lastLoggedStep,
    });
    run.#opened = opened.move();
    return run;
  }

  private constructor(
    private readonly config: TangoConfig,
    private readonly folder: RunFolder,
    policies: Policies,
    problems: Problems,
    private readonly reward: CustomReward | null,
    { events = new RunEvents(), control = new RunControl() }: RunSurroundings,
    { state, lastLoggedStep }: Pick<TangoRun, "lastLoggedStep"> & { readonly state: RunState },
  ) {
    this.#events = events;
    this.#control = control;
    this.#schedule = camelCased(config.schedule);
    this.#problems = problems;
    this.#heldOut = new HeldOutEvaluation(config, this.#problems);
    this.#policies = policies;
    this.#health = new PolicyHealth(watched(config, policies), events);
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
    const { totalTrainingSteps: total } = this.#schedule;
    this.#events.emit({ type: "started", step: this.globalSteps, total });
    let reachedEnd = true;
    for (;;) {
      const step = nextStep(this.#schedule, this.#state.position);
      if (!step) break;
      if (step.evaluateBefore) await this.#evaluate(0);
      const started = performance.now();
      const outcome = step.phase === "generator"
        ? await this.#generatorStep(step)
        : await this.#verifierStep(step);
      this.#tell(step, outcome, (performance.now() - started) / 1000);
      this.#state.position = positionAfter(this.#schedule, this.#state.position, step);
      this.#health.count(step.globalStep, updatesOf(step.phase, outcome.learned));
      if (step.evaluateAfter) await this.#evaluate(step.globalStep);
      const isLast = nextStep(this.#schedule, this.#state.position) === null;
      const isStopping = await betweenSteps(this.#control, this.#events, {
        step: step.globalStep,
        isLast,
        isSaveDue: step.saveAfter && this.#health.isWorthSaving(step.globalStep),
        save: () => this.#save(),
      });
      reachedEnd = isLast;
      if (isStopping) break;
    }
    if (reachedEnd) {
      await this.#health.requireSound(this.globalSteps);
      await this.#writeModels((name) => this.folder.weights(name));
    }
    this.#events.emit({ type: "finished", step: this.globalSteps, reachedEnd });
    return reachedEnd;
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
      generator: generator.model.parameterCount,
      verifier: verifier && verifier.model.parameterCount,
    };
  }

  /** Returns the GPU memory and closes the files with problems. */
  close(): void {
    this.#opened.dispose();
  }

  #tell(
    { globalStep: step, phase }: TangoStep,
    { metrics, samples, tokens }: StepOutcome,
    seconds: number,
  ): void {
    const { epochs, timeouts } = this.#problems;
    const timings = {
      [METRIC.stepSeconds]: seconds,
      [METRIC.tokensPerSecond]: tokens / seconds,
      ...(epochs === null ? {} : { "data/answer_timeouts": timeouts }),
    };
    tellMeasured(this.#events, { type: "step", step, phase, metrics, timings });
    this.#events.emit({ type: "samples", step, samples });
  }

  async #save(): Promise<void> {
    const step = this.globalSteps;
    if (!(await this.#health.maySave(step))) return;
    this.#state.skippedInARow = this.#health.skippedInARow;
    this.#state.problemPosition = this.#problems.position;
    const { keep_checkpoints: keep } = this.config.schedule;
    const path = await this.#events.during(
      step,
      "checkpoint",
      () => saveRunState(this.folder.checkpoints, this.#policies, this.#state, keep),
    );
    this.#events.emit({ type: "checkpoint", step, path });
  }

  async #writeModels(folder: (name: "generator" | "verifier") => string): Promise<void> {
    const { generator, verifier } = this.#policies;
    const start = this.config.verifier?.model;
    const labels = { generator: null, verifier: start ? readJudgmentLabels(start) : null };
    for (const [name, policy] of [["generator", generator], ["verifier", verifier]] as const) {
      if (policy?.trainer) await writeModelFolder(folder(name), policy, labels[name]);
    }
  }

  #sampling(stream: number, step: number): Sampling {
    return rolloutSampling(this.config, stream, step);
  }

  #during(step: TangoStep): DuringPhase {
    return (phase, body) => this.#events.during(step.globalStep, phase, body);
  }

  /** The numbers of a policy's own step, counted from 1. */
  #adamw(policy: "generator" | "verifier", step: number): AdamwNumbers {
    const optimizer = this.config[policy]?.optimizer;
    if (!optimizer) throw new Error(`there is no ${policy}`);
    const { totalTrainingSteps } = this.#schedule;
    const generatorSteps = countGeneratorSteps(this.#schedule);
    const learningRate = learningRateAt({
      peak: optimizer.learning_rate,
      warmupSteps: optimizer.warmup_steps,
      warmupShare: optimizer.warmup_share,
      schedule: optimizer.schedule,
      totalSteps: policy === "generator" ? generatorSteps : totalTrainingSteps - generatorSteps,
    }, step - 1);
    return { ...camelCased(optimizer), learningRate };
  }

  async #generatorStep(step: TangoStep): Promise<StepOutcome> {
    const { rollout, advantage, rewards, loss } = camelCased(this.config);
    const { generator, verifier } = this.#policies;
    const judge = step.stage === "generatorWarmup" ? null : verifier;
    const alpha = judge
      ? alphaAt(
        advantage.alpha,
        step.alphaStep,
        generatorStepsAfterWarmup(this.#schedule),
      )
      : 0;
    const adamw = this.#adamw("generator", step.generatorStep);
    const { source } = this.#problems;
    const result = await generatorStep(
      generator,
      judge,
      source,
      (batch) => this.#problems.draw(step.globalStep, rollout.batchSize, batch),
      {
        rollout,
        rewards,
        advantage,
        alpha,
        reward: this.reward && this.reward(source),
        masking: loss,
        loss: lossOptions(this.config, generator.maximumResponse),
        adamw,
        sampling: this.#sampling(streams.generatorRollout, step.globalStep),
        verifierSampling: this.#sampling(streams.verifierRollout, step.globalStep),
        during: this.#during(step),
      },
    );
    const { judged } = result;
    this.#remember(judged[0].solution, judged[0].critiques[0]);
    return {
      metrics: { ...generatorMetrics(result, { alpha, ...adamw }), ...this.#dataMetrics() },
      samples: generatorSamples(
        step.globalStep,
        source,
        judged,
        this.config.samples_per_step,
      ),
      tokens: result.sampledTokens,
      learned: result,
    };
  }

  async #verifierStep(step: TangoStep): Promise<StepOutcome> {
    const { rollout, advantage, rewards, classReweighting, loss } = camelCased(this.config);
    const { generator, verifier } = this.#policies;
    if (!verifier) throw new Error("a verifier step without a verifier");
    const adamw = this.#adamw("verifier", step.verifierStep);
    const result = await verifierStep(
      generator,
      verifier,
      this.#problems.source,
      this.#problems.draw(step.globalStep, rollout.batchSize),
      this.#state.classCounts,
      {
        rollout,
        rewards,
        advantage,
        classReweighting,
        masking: loss,
        loss: lossOptions(this.config, verifier.maximumResponse),
        adamw,
        sampling: this.#sampling(streams.verifierRollout, step.globalStep),
        generatorSampling: this.#sampling(streams.generatorRollout, step.globalStep),
        during: this.#during(step),
      },
    );
    this.#state.classCounts = result.classCounts;
    const [{ critique }] = result.rewarded;
    this.#remember(critique.solution, critique);
    const solutions = new Set(result.rewarded.map(({ critique }) => critique.solution));
    const solutionTokens = [...solutions].reduce((sum, one) => sum + one.rollout.tokens.length, 0);
    return {
      metrics: {
        ...verifierStepMetrics(this.#problems.source, result, adamw),
        ...this.#dataMetrics(),
      },
      samples: verifierSamples(
        step.globalStep,
        this.#problems.source,
        result.rewarded,
        this.config.samples_per_step,
      ),
      tokens: (result.update?.tokens ?? 0) / loss.epochs + solutionTokens,
      learned: result,
    };
  }

  #remember(...[solution, critique]: [Written, Written?]): void {
    const answered = ({ prompt, rollout }: Written) => ({ prompt, response: rollout.tokens });
    this.#health.remember("generator", answered(solution));
    if (critique) this.#health.remember("verifier", answered(critique));
  }

  /** How far the files were gone through. */
  #dataMetrics(): Metrics {
    const { epochs } = this.#problems;
    return epochs === null ? {} : { "data/epochs": epochs };
  }

  /** Measures both policies on the held-out problems, and where the best weights are kept, for them. */
  async #evaluate(globalStep: number): Promise<void> {
    const { generator, verifier } = this.#policies;
    const { keep_best } = this.config.schedule;
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
    const { samples_per_step } = this.config;
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

/** What is watched of the policies. */
function watched(
  config: TangoConfig,
  { generator, verifier }: Policies,
): Partial<Record<PolicyName, WatchedPolicy>> {
  const watch = (name: PolicyName, { model, trainer }: Policy<unknown>): WatchedPolicy => ({
    model,
    optimizerKey: trainer && `${name}.optimizer`,
    maximumSkipped: (config[name] ?? config.generator).optimizer.maximum_skipped_updates,
  });
  return {
    generator: watch("generator", generator),
    ...(verifier && { verifier: watch("verifier", verifier) }),
  };
}

/** What became of a step's updates. An unsound policy's log-probs skip whatever there was to learn. */
function updatesOf(learner: PolicyName, { update, unsound }: Learned): StepUpdates {
  if (update === null) {
    return { learner, policy: unsound ?? learner, applied: [false], what: "log-probs are" };
  }
  const { applied, nonFinite } = update;
  return { learner, policy: learner, applied, what: `gradient has ${nonFinite} elements that are` };
}
