import { isDeepStrictEqual } from "../../platform/system/deep_equal.ts";
import { severalErrors } from "../../base/several_errors.ts";
import { GpuFailure } from "../../gpu/gpu_failure.ts";
import { CHAIN_BEGIN } from "../record/hash_chain.ts";
import { digestOfModel } from "../record/inputs.ts";
import { type Made, partsOf, RunRecord } from "../record/run_record.ts";
import { betweenSteps } from "../control/between_steps.ts";
import { ConfigHistory } from "../control/config_history.ts";
import { LiveConfig } from "../control/live_config.ts";
import { RunControl } from "../control/run_control.ts";
import { RunEvents } from "../events/run_events.ts";
import { tellMeasured } from "../events/tell_measured.ts";
import { PolicyHealth } from "../health/policy_health.ts";
import type { Parts, RecordKind } from "../store/audit_log.ts";
import { betterOf } from "../store/best.ts";
import { latestCheckpoint } from "../store/checkpoint.ts";
import { METRIC } from "../store/metric_names.ts";
import type { DeviceFacts } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { StepClock } from "../trace/run_timeline.ts";
import type { Course, DoneStep, DueStep, LoopConfig } from "./course.ts";
import { type LoopState, saveState } from "./loop_state.ts";
import type { RestoredCourse } from "./restore_course.ts";

/** Followers of a run, and the state that it goes on from. */
export interface Following {
  /** Told what happens. */
  readonly events?: RunEvents;
  /** Asked between steps; of several ranks the first one's is. */
  readonly control?: RunControl;
  /** Asked at the end of each step who waited, and how long. */
  readonly timeline?: StepClock;
  /** State of the checkpoint that the course was put back to; null for a new run. */
  readonly restored?: RestoredCourse | null;
  /** Digests of what the run begins with, for its chain. */
  readonly start?: Parts;
  /** Told in the beginning. */
  readonly device?: DeviceFacts;
}

/**
 * Trains to the end or until asked to stop, and then saves: steps, evaluations, checkpoints, the best weights and the
 * last. Every rank goes through the same; only the first one writes.
 *
 * @returns whether the run reached its end
 * @throws Divergence when updates are skipped for too long
 */
export async function train<Config extends LoopConfig>(
  course: Course<Config>,
  folder: RunFolder,
  following: Following = {},
): Promise<boolean> {
  return await new TrainingLoop(course, folder, following).train();
}

class TrainingLoop<Config extends LoopConfig> {
  readonly #events: RunEvents;
  readonly #control: RunControl;
  readonly #timeline: StepClock | undefined;
  readonly #health: PolicyHealth;
  readonly #live: LiveConfig<Config>;
  readonly #warnings: readonly string[];
  readonly #record: RunRecord;
  readonly #start: Parts;
  readonly #device: DeviceFacts | undefined;
  #best: LoopState["best"];

  constructor(
    private readonly course: Course<Config>,
    private readonly folder: RunFolder,
    {
      events = new RunEvents(),
      control = new RunControl(),
      timeline,
      restored,
      start = {},
      device,
    }: Following,
  ) {
    this.#events = events;
    this.#control = control;
    this.#timeline = timeline;
    this.#health = new PolicyHealth(course.watched, events);
    this.#health.skippedInARow = restored?.state.skippedInARow ?? {};
    this.#best = restored?.state.best ?? null;
    this.#record = new RunRecord(events, restored?.state.chain ?? CHAIN_BEGIN);
    this.#start = start;
    this.#device = device;
    this.#warnings = restored?.warnings ?? [];
    const change = (config: Config, settings: Parameters<typeof course.changed>[1]) =>
      course.changed(config, settings);
    const history = new ConfigHistory(folder.history, course.config, change);
    this.#live = new LiveConfig(course.ranks, history, course.step);
    course.config = this.#live.current;
  }

  async train(): Promise<boolean> {
    const { course } = this;
    using _door = this.#live.open(this.#control, course.totalSteps);
    const { step, totalSteps: total, ranks } = course;
    const device = this.#device && { device: this.#device };
    this.#events.emit({ type: "started", step, total, ranks: ranks.size, ...device });
    for (const message of this.#warnings) this.#events.emit({ type: "warning", step, message });
    if (this.#record.end === CHAIN_BEGIN) this.#record.add(step, "start", this.#start);
    while (course.next() !== null) {
      if (await this.#live.begin(course.step + 1, this.#events)) course.config = this.#live.current;
      const due = course.next();
      if (due === null || await this.#step(due)) break;
    }
    const reachedEnd = course.next() === null;
    if (reachedEnd) {
      await this.#health.requireSound(course.step);
      await course.writeModels(this.folder, "weights");
      if (ranks.rank === 0) this.#record.add(course.step, "models", await this.#models());
    }
    await this.#timeline?.runEnd();
    this.#events.emit({ type: "finished", step: course.step, reachedEnd });
    return reachedEnd;
  }

  /** @returns whether the run was asked to stop after it */
  async #step(due: DueStep): Promise<boolean> {
    const { course } = this;
    const { step } = due;
    if (due.evaluateBefore) {
      await this.#evaluate(step - 1);
      if (course.next() === null) return false; // what it was to reach is there
    }
    const began = performance.now();
    const done = await this.#takeOrSave(step);
    const seconds = (performance.now() - began) / 1000;
    const { phase, metrics, samples, tokens, answers } = done;
    const timings = {
      [METRIC.stepSeconds]: seconds,
      [METRIC.tokensPerSecond]: tokens / seconds,
      ...done.timings,
      ...await this.#timeline?.stepEnd(seconds),
    };
    tellMeasured(this.#events, { type: "step", step, phase, metrics, timings });
    if (samples) this.#events.emit({ type: "samples", step, samples });
    this.#tellRecord(step, phase, { ...done, settings: this.#live.changes });
    if (answers.generator) this.#health.remember("generator", answers.generator);
    if (answers.verifier) this.#health.remember("verifier", answers.verifier);
    this.#health.count(step, done.updates);
    if (due.evaluateAfter) await this.#evaluate(step);
    const isLast = course.next() === null;
    const isDue = due.saveAfter && !isLast && this.#health.isWorthSaving(step);
    return await betweenSteps(course.ranks, this.#control, this.#events, {
      step,
      isLast,
      isSaveDue: isDue,
      save: () => this.#save({ isOfCourse: isDue || isLast }),
    });
  }

  /**
   * Does a step. One that fails before it has changed weights takes none of the earlier ones with it: they are saved.
   * Several ranks do not agree on where it failed, so that theirs go on from the last checkpoint.
   */
  async #takeOrSave(step: number): Promise<DoneStep> {
    const { course } = this;
    const weights = () =>
      Object.values(course.models).map(({ here }) => here?.model.weightsVersion);
    const before = { state: course.state(), weights: weights() };
    try {
      return await course.take((phase, body) => this.#events.during(step, phase, body));
    } catch (error) {
      const isSavable = course.ranks.size === 1 && !(error instanceof GpuFailure) &&
        isDeepStrictEqual(weights(), before.weights) &&
        course.step > (latestCheckpoint(this.folder.checkpoints)?.step ?? 0);
      if (!isSavable) throw error;
      try {
        await this.#save({ own: before.state });
      } catch (second) {
        throw severalErrors([error, second], "a step failed, and so did saving those before it");
      }
      throw error;
    }
  }

  /** Measures the policies, and keeps their weights where they are the best so far. */
  async #evaluate(step: number): Promise<void> {
    const { course } = this;
    const evaluate = () => course.evaluate(step);
    const found = await this.#events.during(step, "evaluation", evaluate);
    const { metrics, samples, choice, warning } = found;
    tellMeasured(this.#events, { type: "evaluation", step, metrics });
    if (warning) this.#events.emit({ type: "warning", step, message: warning });
    if (samples) this.#events.emit({ type: "samples", step, samples });
    this.#tellRecord(step, "evaluation", found);
    if (choice === null || !Number.isFinite(choice)) return;
    const candidate = { step, value: choice };
    this.#best = betterOf(this.#best, candidate, course.choosesHighest);
    const isKept = course.config.schedule.keep_best && this.#best === candidate;
    if (isKept && await this.#health.maySave(step)) await course.writeModels(this.folder, "best");
  }

  /** Digests of the models that the run leaves. */
  async #models(): Promise<Parts> {
    const { course, folder } = this;
    const parts: Record<string, string> = {};
    for (const policy of course.trained) {
      parts[policy] = await digestOfModel(course.modelFolder(folder, policy), false);
    }
    return parts;
  }

  #tellRecord(step: number, phase: RecordKind, made: Made): void {
    this.#record.add(step, phase, partsOf(made));
  }

  /**
   * @param own the method's state
   * @param isOfCourse whether every such run saves here; what was asked for from outside is no part of its chain
   */
  async #save({ own = this.course.state(), isOfCourse = false } = {}): Promise<void> {
    const { course, folder } = this;
    const { step, config: { schedule } } = course;
    if (!(await this.#health.maySave(step))) return;
    const { skippedInARow } = this.#health;
    const { end: chain } = this.#record;
    const kept: LoopState = { best: this.#best, skippedInARow, device: course.device, chain };
    const record = (models: Parts) => {
      this.#record.add(step, "weights", models);
      return this.#record.end;
    };
    const save = () =>
      saveState(
        folder.checkpoints,
        course,
        { own, kept },
        schedule.keep_checkpoints,
        isOfCourse ? record : undefined,
      );
    const path = await this.#events.during(step, "checkpoint", save);
    this.#events.emit({ type: "checkpoint", step, path });
  }
}
