import { streams } from "../../random/philox.ts";
import {
  type Learnability,
  LEARNABILITY_SAMPLES,
  learnabilityOf,
  learnabilityProblems,
} from "../../rl/measures/learnability.ts";
import type { Policy } from "../../rl/policy.ts";
import type { GeneratorTemplate } from "../../rl/prompt_template.ts";
import { solve } from "../../rl/responses.ts";
import type { Problems } from "../problems/problems.ts";

/** Tells whether samples of a generator in fine-tuning differ enough for reinforcement learning to learn from. */
export class LearnabilityMeasurement {
  /**
   * @param seed of the samples' random numbers
   * @param temperature of the samples
   */
  constructor(
    private readonly generator: Policy<GeneratorTemplate>,
    readonly problems: Problems,
    private readonly seed: number,
    private readonly temperature: number,
  ) {}

  /** Samples solutions of so many problems of the test part, as far as evaluations have so many. */
  async measure(count: number): Promise<Learnability> {
    const { generator, problems, seed, temperature } = this;
    const held = learnabilityProblems(
      problems.heldOut("test"),
      count,
      problems.source.sourceName,
    );
    const filters = { topK: 0, topP: 1, minP: 0 };
    const solutions = await solve(generator, problems.source, held, {
      count: LEARNABILITY_SAMPLES,
      minimumSteps: 0,
      sampling: { temperature, ...filters, seed, stream: streams.learnability, step: 0 },
    });
    return learnabilityOf(solutions);
  }
}
