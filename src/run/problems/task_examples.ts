import { flipJudgments } from "../../data/coin_flips.ts";
import { correctSolution, renderCritique, renderSolution } from "../../data/solution_text.ts";
import type { Problem, SolutionParts, Uniform } from "../../data/task.ts";
import { type RandomPlace as StreamPlace, RandomStream, streams } from "../../random/philox.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import type { GeneratorTemplate, VerifierTemplate } from "../../rl/prompt_template.ts";
import type { SupervisedSample } from "../../rl/update/supervised_update.ts";
import { encodeExample } from "./encode_example.ts";
import type { JudgmentLabels } from "../config/sft_config_schema.ts";
import type { Examples, PromptedPolicy } from "./examples.ts";
import type { HeldOutPart } from "./problems.ts";
import type { TaskProblems } from "./task_problems.ts";

/** Where an example's random numbers lie; its number in the batch is the sequence. */
type RandomPlace = Pick<StreamPlace, "seed" | "stream" | "step">;

/** Examples of an embedded task: correct solutions, or critiques of solutions. */
export class TaskExamples implements Examples {
  readonly position = 0;
  readonly count = null;
  readonly epochs = null;
  readonly report = null;

  constructor(
    private readonly problems: TaskProblems,
    private readonly tokenizer: Tokenizer,
    private readonly options: {
      readonly seed: number;
      /** Keys what is random in held-out examples. */
      readonly evaluationSeed: number;
      readonly prompted: PromptedPolicy;
      /** The token that ends a response; null: the tokenizer's end of a sequence. */
      readonly turnEnd: number | null;
      readonly correctShare: number;
      /** `coin_flip` has the judgments know nothing of the solution. */
      readonly judgmentLabels: JudgmentLabels;
      readonly judgmentWeight: number;
    },
  ) {}

  /** Which ones depends on the seed and the update's number alone. */
  draw(step: number, count: number): SupervisedSample[] {
    const { seed } = this.options;
    return this.#examples(this.problems.draw(step, count), {
      seed,
      stream: streams.supervision,
      step,
    });
  }

  heldOut(part: HeldOutPart): SupervisedSample[] {
    return this.#examples(this.problems.heldOut(part), this.#heldOutPlace(part));
  }

  some(count: number): SupervisedSample[] {
    return this.draw(1, count);
  }

  [Symbol.dispose](): void {}

  /** Held-out problems with a solution each for the verifier to judge: correct, or corrupted. */
  solutionsToJudge(part: HeldOutPart): { problem: Problem; solution: SolutionParts }[] {
    const place = this.#heldOutPlace(part);
    return this.problems.heldOut(part).map((problem, i) => {
      const random = new RandomStream(place.seed, place.stream, place.step, i);
      return { problem, solution: this.#solutionToJudge(problem, () => random.uniform()) };
    });
  }

  #heldOutPlace(part: HeldOutPart): RandomPlace {
    const stream = part === "test" ? streams.supervision : streams.validation;
    return { seed: this.options.evaluationSeed, stream, step: 0 };
  }

  #examples(problems: readonly Problem[], place: RandomPlace): SupervisedSample[] {
    const { prompted } = this.options;
    return problems.map((problem, i) => {
      if (prompted.policy === "generator") return this.#solution(prompted.template, problem);
      const random = new RandomStream(place.seed, place.stream, place.step, i);
      return this.#critique(prompted.template, problem, () => random.uniform());
    });
  }

  #solutionToJudge(problem: Problem, uniform: Uniform): SolutionParts {
    return uniform() < this.options.correctShare
      ? correctSolution(problem)
      : this.problems.task.corruptSolution(problem, uniform);
  }

  #solution(template: GeneratorTemplate, problem: Problem): SupervisedSample {
    const response = renderSolution(correctSolution(problem));
    return this.#sample(template.render({ question: problem.question }), response, 1);
  }

  #critique(template: VerifierTemplate, problem: Problem, uniform: Uniform): SupervisedSample {
    const solution = this.#solutionToJudge(problem, uniform);
    const gold = this.problems.task.writeCritique(problem, solution);
    const { judgmentLabels, judgmentWeight } = this.options;
    return this.#sample(
      template.render({
        question: problem.question,
        solution: renderSolution(solution),
        steps: solution.steps.length,
      }),
      renderCritique(judgmentLabels === "gold" ? gold : flipJudgments(gold, uniform)),
      judgmentWeight,
    );
  }

  #sample(prompt: string, response: string, judgmentWeight: number): SupervisedSample {
    const { turnEnd: end } = this.options;
    return encodeExample(this.tokenizer, prompt, response, { end, judgmentWeight });
  }
}
