import { Failure } from "../base/failure.ts";

/** The failure of the process that compares answers: no verdict can be had. */
export class GradingFailure extends Failure {
  override name = "GradingFailure";
}
