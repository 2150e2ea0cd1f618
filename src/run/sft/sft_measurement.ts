import type { Metrics } from "../store/metrics_log.ts";
import type { Trainer } from "../../engine/training/trainer.ts";
import {
  measurePreferences,
  pairsOf,
  type PreferenceOptions,
} from "../../rl/update/preference_update.ts";
import { supervisedLoss } from "../../rl/update/supervised_update.ts";
import type { Learnability } from "../../rl/measures/learnability.ts";
import { choosesWeights, type SftConfig } from "../config/sft_config_schema.ts";
import type { Examples } from "../problems/examples.ts";
import type { HeldOutPart } from "../problems/problems.ts";
import { METRIC } from "../store/metric_names.ts";
import type { LearnabilityMeasurement } from "./learnability_measurement.ts";
import type { TaskMeasurement } from "./task_measurement.ts";

/** Result of an evaluation during supervised fine-tuning. */
export interface SftEvaluation {
  readonly step: number;
  /** Loss of the held-out examples, nats per token, or per pair of responses. */
  readonly loss: number;
  /**
   * Measure on the validation part by which weights are chosen, where they are: the generator's greedy accuracy, the
   * verifier's balanced accuracy, or on files the loss.
   */
  readonly choice: number | null;
  readonly metrics: Metrics;
}

/** Measures a policy in supervised fine-tuning on what no update draws. */
export class SftMeasurement {
  /**
   * @param onTask of an embedded task; null on files
   * @param learnability of a generator; null of a verifier, or where it is not asked
   * @param preferences how pairs of responses are measured; null where responses are imitated
   */
  constructor(
    private readonly config: SftConfig,
    private readonly trainer: Trainer,
    private readonly examples: Examples,
    private readonly onTask: TaskMeasurement | null,
    private readonly learnability: LearnabilityMeasurement | null,
    private readonly preferences: PreferenceOptions | null,
  ) {}

  /** Whether weights are chosen by an accuracy, of which more is better, and not by a loss. */
  get choosesByAccuracy(): boolean {
    return this.onTask !== null;
  }

  /** The loss of held-out examples, and what was measured on an embedded task's problems. */
  async measure(step: number): Promise<SftEvaluation> {
    const { loss, metrics } = await this.#examples("test");
    const measured = await this.onTask?.measure(step);
    const choice = choosesWeights(this.config) ? await this.#validate() : null;
    return {
      step,
      loss,
      choice,
      metrics: {
        [METRIC.heldOutLoss]: loss,
        ...metrics,
        ...measured,
        ...(choice === null ? {} : { [this.#choiceName]: choice }),
      },
    };
  }

  /** Whether the generator's samples of so many problems differ enough to learn from; null where it is not asked. */
  async measureLearnability(problems: number): Promise<Learnability | null> {
    return problems === 0 ? null : await this.learnability?.measure(problems) ?? null;
  }

  /** Accuracy on an embedded task, else the loss. */
  async #validate(): Promise<number> {
    return this.onTask ? await this.onTask.validate() : (await this.#examples("validation")).loss;
  }

  /** The loss of a part's examples, and of pairs how they are told apart. */
  async #examples(part: HeldOutPart): Promise<{ loss: number; metrics: Metrics }> {
    const samples = this.examples.heldOut(part);
    const { trainer, preferences } = this;
    if (preferences === null) return { loss: await supervisedLoss(trainer, samples), metrics: {} };
    const told = await measurePreferences(trainer, pairsOf(samples), preferences);
    const metrics = {
      [METRIC.heldOutPreferenceAccuracy]: told.accuracy,
      [METRIC.heldOutPreferenceMargin]: told.margin,
      "eval/chosen_reward": told.chosenReward,
      "eval/rejected_reward": told.rejectedReward,
    };
    return { loss: told.loss, metrics };
  }

  get #choiceName(): string {
    if (this.onTask === null) return METRIC.validationLoss;
    return this.config.policy === "generator"
      ? METRIC.validationAccuracy
      : METRIC.validationBalancedAccuracy;
  }
}
