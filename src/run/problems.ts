import type { Difficulty, Problem, Task } from "../data/task.ts";
import { findTask } from "../data/tasks.ts";
import { RandomStream, streams } from "../kernels/philox.ts";
import type { ProblemSource } from "../rl/responses.ts";
import type { TaskConfig } from "./shared_schema.ts";

/** The problems of a run: a task at a difficulty, drawn by seed and place. */
export class Problems {
  readonly task: Task;
  readonly difficulty: Difficulty;
  /** The task as the RL loop sees it. */
  readonly source: ProblemSource<Problem>;

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
      isCorrect: (problem, answer) => task.isCorrectAnswer(problem, answer),
      labelSteps: (problem, steps) => task.labelSteps(problem, steps),
    };
  }

  /** The problems of a training step; which ones depends on the seed and the step alone. */
  batch(step: number, count: number): Problem[] {
    return this.#draw(this.seed, streams.problems, step, count);
  }

  /** Held-out problems: a stream that training never draws from. */
  heldOut(seed: number, count: number): Problem[] {
    return this.#draw(seed, streams.heldOutProblems, 0, count);
  }

  #draw(seed: number, stream: number, step: number, count: number): Problem[] {
    return Array.from({ length: count }, (_, i) => {
      const random = new RandomStream(seed, stream, step, i);
      return this.task.makeProblem(() => random.uniform(), this.difficulty);
    });
  }
}
