import { Failure } from "../base/failure.ts";

/** What compares answers has given out, so that no verdict can be had. */
export class GradingFailure extends Failure {
  override name = "GradingFailure";
}
