import { UserError } from "../base/user_error.ts";

/** How alpha, the share of the process advantage, falls over the generator's steps. */
export interface AlphaSchedule {
  /** `none` keeps `start`. */
  decay: "exp" | "linear" | "cosine" | "none";
  /** alpha_0 in [0, 1]; 0 means no process part at all. */
  start: number;
  /** alpha_min, the floor; above 0 for `exp`. */
  minimum: number;
  /** f: `exp` reaches `minimum` after this fraction of the steps. */
  expFraction: number;
}

/** @throws UserError when the schedule's numbers cannot be used together. */
export function validateAlphaSchedule(schedule: AlphaSchedule): void {
  const { decay, start, minimum, expFraction } = schedule;
  if (!(start >= 0 && start <= 1)) {
    throw new UserError(`alpha start: found ${start}, expected a number from 0 to 1`);
  }
  if (start === 0 || decay === "none") return;
  if (!(minimum >= 0 && minimum <= start)) {
    throw new UserError(`alpha minimum: found ${minimum}, expected a number from 0 to ${start}`);
  }
  if (decay === "exp" && !(minimum > 0)) {
    throw new UserError(
      "alpha minimum: found 0, expected more than 0 for exponential decay, which never reaches 0; " +
        "raise it or choose linear or cosine decay",
    );
  }
  if (decay === "exp" && !(expFraction > 0)) {
    throw new UserError(`alpha exp fraction: found ${expFraction}, expected more than 0`);
  }
}

/**
 * alpha at generator step t of T, both counted after the generator's warm-up; 0 during the warm-up
 * (t < 0). With `exp`: max(alpha_min, alpha_0 * exp(-k t)), k = ln(alpha_0 / alpha_min) / (f T).
 * Published: start 0.1 (GRPO, RLOO) or 0.5 (REINFORCE++), minimum 1e-3, f = 1.
 * @throws UserError as `validateAlphaSchedule` does.
 */
export function alphaAt(schedule: AlphaSchedule, step: number, totalSteps: number): number {
  validateAlphaSchedule(schedule);
  const { decay, start, minimum, expFraction } = schedule;
  if (step < 0 || start === 0) return 0;
  if (decay === "none") return start;
  const progress = totalSteps > 0 ? step / totalSteps : 0;
  return Math.max(minimum, decayed());

  function decayed(): number {
    switch (decay) {
      case "exp":
        return start * Math.exp(-Math.log(start / minimum) * progress / expFraction);
      case "linear":
        return start - (start - minimum) * progress;
      default:
        // Past its half period the cosine would rise again.
        return minimum +
          0.5 * (start - minimum) * (1 + Math.cos(Math.PI * Math.min(1, progress)));
    }
  }
}
