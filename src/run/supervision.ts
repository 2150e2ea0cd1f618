import { correctSolution, renderSolution } from "../data/solution_text.ts";
import type { Problem, SolutionParts } from "../data/task.ts";
import { RandomStream, streams } from "../kernels/philox.ts";
import type { Tokenizer } from "../model/tokenizer.ts";
import type { GeneratorTemplate, VerifierTemplate } from "../rl/prompt_template.ts";
import type { SupervisedSample } from "../rl/supervised_update.ts";
import type { Problems } from "./problems.ts";

/** Makes the examples that supervised fine-tuning imitates. */
export class Supervision {
  constructor(
    private readonly problems: Problems,
    private readonly tokenizer: Tokenizer,
    private readonly options: {
      readonly seed: number;
      readonly policy: "generator" | "verifier";
      readonly generatorTemplate: GeneratorTemplate;
      readonly verifierTemplate: VerifierTemplate;
      readonly correctShare: number;
      readonly judgmentWeight: number;
    },
  ) {}

  /** The examples of an update; which ones depends on the seed and the update's number alone. */
  batch(step: number, count: number): SupervisedSample[] {
    return this.problems.batch(step, count).map((problem, i) => {
      const random = new RandomStream(this.options.seed, streams.supervision, step, i);
      return this.options.policy === "generator"
        ? this.#solution(problem)
        : this.#critique(problem, this.solutionToJudge(problem, () => random.uniform()));
    });
  }

  /** A solution for the verifier to judge: correct, or corrupted. */
  solutionToJudge(problem: Problem, uniform: () => number): SolutionParts {
    return uniform() < this.options.correctShare
      ? correctSolution(problem)
      : this.problems.task.corruptSolution(problem, uniform);
  }

  #solution(problem: Problem): SupervisedSample {
    return this.#sample(
      this.options.generatorTemplate.render({ question: problem.question }),
      renderSolution(correctSolution(problem)),
    );
  }

  #critique(problem: Problem, solution: SolutionParts): SupervisedSample {
    return this.#sample(
      this.options.verifierTemplate.render({
        question: problem.question,
        solution: renderSolution(solution),
        steps: solution.steps.length,
      }),
      this.problems.task.writeCritique(problem, solution),
    );
  }

  #sample(prompt: string, response: string): SupervisedSample {
    const end = this.tokenizer.specialToken("eos_token");
    const tokens = this.tokenizer.encode(response);
    const ids = end === null ? tokens : Uint32Array.of(...tokens, end);
    const texts = this.tokenizer.decodeEach(ids);
    const weights = texts.map((text) =>
      this.options.policy === "verifier" && /CORRECT$/.test(text) ? this.options.judgmentWeight : 1
    );
    return {
      prompt: this.tokenizer.encode(prompt),
      response: ids,
      weights: Float32Array.from(weights),
    };
  }
}
