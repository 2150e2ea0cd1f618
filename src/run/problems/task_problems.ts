import { camelCased } from "../../base/camel_cased.ts";
import type { Split } from "../../data/split.ts";
import type { Difficulty, Problem, Task } from "../../data/task.ts";
import { findTask } from "../../data/tasks.ts";
import { UserError } from "../../base/user_error.ts";
import { RandomStream, streams } from "../../random/philox.ts";
import type { ProblemSource } from "../../rl/responses.ts";
import type { HeldOutChoice, HeldOutPart, Problems } from "./problems.ts";
import type { TaskConfig } from "../config/shared_schema.ts";

const STREAMS: Readonly<Record<HeldOutPart, number>> = {
  validation: streams.validationProblems,
  test: streams.heldOutProblems,
};

/** The parts that must not have a problem of another, where no rule of the task says so. */
const APART: Readonly<Record<Split, readonly HeldOutPart[]>> = {
  test: [],
  validation: ["test"],
  train: ["test", "validation"],
};

/** Settings without those that are null. */
function withoutNulls<Value>(
  settings: Readonly<Record<string, Value | null>>,
): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(settings).filter((entry): entry is [string, Value] => entry[1] !== null),
  );
}

/** Draws for one problem after which it is clear that hardly any is left. */
const MOST_DRAWS = 10_000;

/**
 * Problems made by an embedded task at a difficulty; which ones depends on the seeds and the place alone. A
 * draw that belongs to another part is drawn again.
 */
export class TaskProblems implements Problems<Problem> {
  readonly task: Task;
  readonly difficulty: Difficulty;
  readonly source: ProblemSource<Problem>;
  readonly position = 0;
  readonly epochs = null;
  readonly report = null;
  readonly passedOver = 0;
  readonly timeouts = 0;
  readonly #heldOut = new Map<HeldOutPart, readonly Problem[]>();
  readonly #questions = new Map<HeldOutPart, ReadonlySet<string>>();

  constructor(
    config: TaskConfig,
    private readonly seed: number,
    private readonly measured: HeldOutChoice & { readonly problems: number },
  ) {
    const task = findTask(config.name);
    this.task = task;
    const { name: _, ...given } = camelCased(config);
    this.difficulty = { ...task.defaultDifficulty, ...withoutNulls(given) };
    this.source = {
      question: (problem) => problem.question,
      referenceAnswer: (problem) => problem.answer,
      sourceName: () => task.name,
      isCorrect: (problem, answer) => task.isCorrectAnswer(problem, answer),
      isSameAnswer: (_, answer, other) => answer.trim() === other.trim(),
      labelSteps: (problem, steps) => task.labelSteps(problem, steps),
      neededSteps: (problem) => problem.goldSteps.length,
      readOwnResult: task.readOwnResult &&
        ((critiqueStep, step) => task.readOwnResult?.(critiqueStep, step) ?? null),
    };
  }

  draw(step: number, count: number, batch = 0): Problem[] {
    return this.#make("train", this.seed, streams.problems, step, batch * count, count);
  }

  heldOut(part: HeldOutPart): readonly Problem[] {
    const known = this.#heldOut.get(part);
    if (known) return known;
    const { seed, problems: count } = this.measured;
    const made = this.#make(part, seed, STREAMS[part], 0, 0, count);
    this.#heldOut.set(part, made);
    return made;
  }

  questions(count: number): string[] {
    return this.draw(1, count).map(({ question }) => question);
  }

  [Symbol.dispose](): void {}

  #make(
    part: Split,
    seed: number,
    stream: number,
    step: number,
    first: number,
    count: number,
  ): Problem[] {
    return Array.from({ length: count }, (_, i) => {
      const random = new RandomStream(seed, stream, step, first + i);
      for (let draw = 0; draw < MOST_DRAWS; draw++) {
        const problem = this.task.makeProblem(() => random.uniform(), this.difficulty);
        if (this.#belongs(problem, part)) return problem;
      }
      throw new UserError(
        `task: of ${MOST_DRAWS} problems drawn, none was left for the ${part} part; allow more steps or ` +
          `letters, or lower evaluation.problems.`,
      );
    });
  }

  #belongs(problem: Problem, part: Split): boolean {
    if (this.task.splitOf) return this.task.splitOf(problem) === part;
    return APART[part].every((other) => !this.#questionsOf(other).has(problem.question));
  }

  #questionsOf(part: HeldOutPart): ReadonlySet<string> {
    const known = this.#questions.get(part);
    if (known) return known;
    const made = new Set(this.heldOut(part).map(({ question }) => question));
    this.#questions.set(part, made);
    return made;
  }
}
