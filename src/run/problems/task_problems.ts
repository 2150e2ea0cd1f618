import type { Difficulty, Problem, Task } from "../../data/task.ts";
import { findTask } from "../../data/tasks.ts";
import { RandomStream, streams } from "../../random/philox.ts";
import type { ProblemSource } from "../../rl/responses.ts";
import type { Problems } from "./problems.ts";
import type { TaskConfig } from "../config/shared_schema.ts";

/** Problems made by an embedded task at a difficulty; which ones depends on the seed and the place alone. */
export class TaskProblems implements Problems<Problem> {
  readonly task: Task;
  readonly difficulty: Difficulty;
  readonly source: ProblemSource<Problem>;
  readonly position = 0;
  readonly epochs = null;
  readonly report = null;
  readonly timeouts = 0;

  constructor(
    config: TaskConfig,
    private readonly seed: number,
  ) {
    const task = findTask(config.name);
    this.task = task;
    this.difficulty = {
      minimumSteps: config.minimum_steps ?? task.defaultDifficulty.minimumSteps,
      maximumSteps: config.maximum_steps ?? task.defaultDifficulty.maximumSteps,
      minimumLetters: config.minimum_letters ?? task.defaultDifficulty.minimumLetters,
      maximumLetters: config.maximum_letters ?? task.defaultDifficulty.maximumLetters,
    };
    this.source = {
      question: (problem) => problem.question,
      referenceAnswer: (problem) => problem.answer,
      sourceName: () => task.name,
      isCorrect: (problem, answer) => task.isCorrectAnswer(problem, answer),
      labelSteps: (problem, steps) => task.labelSteps(problem, steps),
    };
  }

  draw(step: number, count: number, round = 0): Problem[] {
    return this.#make(this.seed, streams.problems, step, round * count, count);
  }

  heldOut(seed: number, count: number): Problem[] {
    return this.#make(seed, streams.heldOutProblems, 0, 0, count);
  }

  questions(count: number): string[] {
    return this.draw(1, count).map(({ question }) => question);
  }

  [Symbol.dispose](): void {}

  #make(seed: number, stream: number, step: number, first: number, count: number): Problem[] {
    return Array.from({ length: count }, (_, i) => {
      const random = new RandomStream(seed, stream, step, first + i);
      return this.task.makeProblem(() => random.uniform(), this.difficulty);
    });
  }
}
