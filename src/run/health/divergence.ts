import type { FailureReason } from "../../base/failure_reason.ts";
import { Failure } from "../../base/failure.ts";
import type { PolicyName } from "../../rl/policy.ts";

/** The end of a run whose policy does not learn any more. */
export class Divergence extends Failure {
  override name = "Divergence";
  readonly reason: FailureReason;

  /**
   * @param policy which one
   * @param optimizerKey the configuration key of its optimizer; null when it is not trained
   * @param lastUpdate the step of its last update that took effect since the run was begun or resumed;
   *   null when there was none: its weights are still those that the run began or went on with
   */
  constructor(
    message: string,
    readonly policy: PolicyName,
    readonly optimizerKey: string | null,
    readonly lastUpdate: number | null,
  ) {
    super(message);
    const learningRate = optimizerKey === null ? null : `${optimizerKey}.learning_rate`;
    this.reason = { code: "diverged", learningRate };
  }
}
