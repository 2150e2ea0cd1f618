/** How alpha, the share of the process advantage, falls over the generator's steps. */
export interface AlphaSchedule {
  /** `none` keeps `initial`; with `earned` that is the most, of which each step gets what `earnedAlpha` says. */
  readonly schedule: "exp" | "linear" | "cosine" | "none" | "earned";
  /** alpha_0 in [0, 1]; 0 means no process part at all. */
  readonly initial: number;
  /** alpha_min, the floor; above 0 for `exp`. */
  readonly minimum: number;
  /** f: `exp` reaches `minimum` after this fraction of the steps. */
  readonly decayFraction: number;
}

function expectSound(alpha: AlphaSchedule): void {
  const { schedule, initial, minimum, decayFraction } = alpha;
  if (!(initial >= 0 && initial <= 1)) {
    throw new Error(`alpha initial: found ${initial}, expected a number from 0 to 1`);
  }
  if (initial === 0 || schedule === "none" || schedule === "earned") return;
  if (!(minimum >= 0 && minimum <= initial)) {
    throw new Error(`alpha minimum: found ${minimum}, expected a number from 0 to ${initial}`);
  }
  if (schedule === "exp" && !(minimum > 0)) {
    throw new Error(
      "alpha minimum: found 0, expected more than 0 for exponential decay, which never reaches 0",
    );
  }
  if (schedule === "exp" && !(decayFraction > 0)) {
    throw new Error(`alpha decay fraction: found ${decayFraction}, expected more than 0`);
  }
}

/**
 * alpha at generator step t of T, both counted after the generator's warm-up; 0 during the warm-up
 * (t < 0). With `earned` it is the most that a step may earn. With `exp`: max(alpha_min, alpha_0 * exp(-k t)), k = ln(alpha_0 / alpha_min) / (f T).
 * Published: initial 0.1 (GRPO, RLOO) or 0.5 (REINFORCE++), minimum 1e-3, f = 1.
 * @throws Error when the schedule's numbers cannot be used together.
 */
export function alphaAt(alpha: AlphaSchedule, step: number, totalSteps: number): number {
  expectSound(alpha);
  const { schedule, initial, minimum, decayFraction } = alpha;
  if (step < 0 || initial === 0) return 0;
  if (schedule === "none" || schedule === "earned") return initial;
  const progress = totalSteps > 0 ? step / totalSteps : 0;
  return Math.max(minimum, decayed());

  function decayed(): number {
    switch (schedule) {
      case "exp":
        return initial * Math.exp(-Math.log(initial / minimum) * progress / decayFraction);
      case "linear":
        return initial - (initial - minimum) * progress;
      default:
        // Past its half period the cosine would rise again.
        return minimum +
          0.5 * (initial - minimum) * (1 + Math.cos(Math.PI * Math.min(1, progress)));
    }
  }
}
