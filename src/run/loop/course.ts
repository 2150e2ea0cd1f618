import type { Communicator } from "../../distributed/communicator.ts";
import type { PolicyName } from "../../rl/policy.ts";
import type { DuringPhase } from "../../rl/schedule/step_phase.ts";
import type { Answered } from "../../rl/soundness.ts";
import type { Settings } from "../config/changeable.ts";
import type { StepUpdates, WatchedPolicy } from "../health/policy_health.ts";
import type { JsonValue } from "../store/json_lines_log.ts";
import type { Parts } from "../store/audit_log.ts";
import type { Metrics } from "../store/metrics_log.ts";
import type { RunDevice } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { Sample } from "../store/samples_log.ts";
import type { StoredCheckpoint } from "../store/stored_checkpoint.ts";
import type { TrainedModels } from "../store/trained_models.ts";

/** Keys of a run's configuration that the loop itself reads. */
export interface LoopConfig {
  readonly schedule: { readonly keep_best: boolean; readonly keep_checkpoints: number };
}

/** A step to do. */
export interface DueStep {
  /** Counted from 1. */
  readonly step: number;
  readonly evaluateBefore: boolean;
  readonly evaluateAfter: boolean;
  readonly saveAfter: boolean;
}

/** Result of a step. */
export interface DoneStep {
  /** The policy that was to learn. */
  readonly phase: PolicyName;
  readonly metrics: Metrics;
  /** Metrics that differ from machine to machine, besides the step's own time. */
  readonly timings?: Metrics;
  readonly samples?: readonly Sample[];
  /** Digests of what it came from. */
  readonly parts: Parts;
  /** Tokens sampled and trained on. */
  readonly tokens: number;
  readonly updates: StepUpdates;
  /** An answer of each policy that has any, by which its soundness is judged. */
  readonly answers: { readonly [Policy in PolicyName]?: Answered };
}

/** Result of an evaluation. */
export interface Evaluated {
  readonly metrics: Metrics;
  readonly samples?: readonly Sample[];
  /** Digests of what it came from. */
  readonly parts: Parts;
  /** What is to be said about it. */
  readonly warning?: string | null;
  /** Measure by which the best weights are chosen; null where none are chosen. */
  readonly choice: number | null;
}

/**
 * A training method on its way, as the loop drives it. Of several ranks each has one, and all of them go through the
 * same calls. What it computes depends on the configuration alone, so that a resumed run goes on bit for bit.
 */
export interface Course<Config extends LoopConfig> {
  /** Configuration of the present step; set between steps. */
  config: Config;
  readonly ranks: Communicator;
  /** Device that the run computes on. */
  readonly device: RunDevice;
  readonly watched: { readonly [Policy in PolicyName]?: WatchedPolicy };
  /** Steps done. */
  readonly step: number;
  /** Steps in all, unless it ends earlier. */
  readonly totalSteps: number;
  /** Whether more is better of what the best weights are chosen by. */
  readonly choosesHighest: boolean;

  /**
   * A configuration with some settings changed.
   *
   * @throws UserError naming those that may not change, or do not fit
   */
  changed(config: Config, settings: Settings): Config;

  /** The next step; null when all are done. */
  next(): DueStep | null;

  /** Does the next step. */
  take(during: DuringPhase): Promise<DoneStep>;

  /** Measures the policies on held-out problems. */
  evaluate(step: number): Promise<Evaluated>;

  /** Writes the trained policies to where they belong at the end, or the best so far. */
  writeModels(folder: RunFolder, which: "weights" | "best"): Promise<void>;

  /** Where `writeModels` leaves a policy's weights in the end. */
  modelFolder(folder: RunFolder, policy: PolicyName): string;

  /** The policies that are trained, whichever rank holds them. */
  readonly trained: readonly PolicyName[];
  /** Models in training, by their names in a checkpoint. */
  readonly models: TrainedModels;
  /** The configuration key of a trained model's path, for messages. */
  modelKey(name: string): string;
  /** State of the method for a checkpoint, besides what the loop keeps. */
  state(): { readonly [key: string]: JsonValue };
  /**
   * Takes the method's state from a checkpoint.
   *
   * @throws UserError when it is not such a state
   */
  adopt(checkpoint: StoredCheckpoint): void;
  /** Returns the GPU memory and closes the files. */
  close(): void;
}
