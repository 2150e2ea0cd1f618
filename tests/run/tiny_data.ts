import { correctSolution, renderSolution } from "../../src/data/solution_text.ts";
import { taskSchema } from "../../src/run/config/shared_schema.ts";
import { TaskProblems } from "../../src/run/problems/task_problems.ts";
import { tinyTask } from "./tiny_policies.ts";

/**
 * Problems of the tiny task as JSON Lines, each question once, all parts in columns of their own.
 *
 * @param from those before it are left out: for files that share none
 */
export function tinyData(count: number, from = 0): string {
  const task = new TaskProblems(taskSchema.parse(tinyTask), 17, { problems: 1, seed: 0 });
  const problems = task.draw(1, 3 * (from + count));
  const byQuestion = new Map(problems.map((problem) => [problem.question, problem]));
  return [...byQuestion.values()].slice(from, from + count).map((problem) =>
    JSON.stringify({
      question: problem.question,
      answer: problem.answer,
      solution: renderSolution(correctSolution(problem)),
      steps: problem.goldSteps,
    })
  ).join("\n");
}

/** Which columns of such a file hold what; answers are letters, no formulas. */
export const tinyColumns = { question: "question", answer: "answer", comparison: "text" } as const;
