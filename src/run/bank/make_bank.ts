/** Solutions for a bank: sampled, or written by a task, as many right as wrong. */

import type { Sampling } from "../../engine/sampling/rollout.ts";
import { correctSolution, renderSolution } from "../../data/solution_text.ts";
import type { Problem, Task } from "../../data/task.ts";
import { RandomStream, streams } from "../../random/philox.ts";
import { goldStepsOf } from "../../rl/evaluation.ts";
import type { Policy } from "../../rl/policy.ts";
import type { GeneratorTemplate } from "../../rl/prompt_template.ts";
import { type Solution, solve } from "../../rl/responses.ts";
import { parseSolution } from "../../rl/text/parse_solution.ts";
import type { Problems } from "../problems/problems.ts";
import type { BankSolution, BankWriter } from "./bank_file.ts";
import type { BankProblems } from "./bank_problems.ts";
import type { BankPolicy } from "./bank_runs.ts";

/** Name of the source of solutions that a task wrote. */
export const WRITTEN_SOURCE = "corruptions";

/** A source's share of a bank, and of how many solutions it was chosen. */
export interface BankSource {
  readonly source: string;
  /** Different solutions, and how many of them are right. */
  readonly different: number;
  readonly right: number;
  /** Share of all that were cut off at the longest response; 0 for written ones. */
  readonly cutShare: number;
  /** As many right as wrong; none where all are of one kind. */
  readonly solutions: readonly BankSolution[];
}

/** Sampling without filters: each token is drawn by its probability. */
export const plainSampling = (seed: number, stream: number, step: number): Sampling => ({
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  seed,
  stream,
  step,
});

/** How solutions are sampled for a bank. */
export interface SamplingOptions {
  /** Name of the task or data set. */
  readonly task: string;
  /** Solutions of each problem. */
  readonly samples: number;
  readonly minimumSteps: number;
  readonly seed: number;
  /** Place of the generator among those of the bank; keys its random numbers. */
  readonly place: number;
}

/** Has a generator solve the problems at temperature 1. */
export async function sampleSource(
  generator: Policy<GeneratorTemplate>,
  writer: BankPolicy,
  { problems, chosen }: BankProblems,
  { task, samples, minimumSteps, seed, place }: SamplingOptions,
): Promise<BankSource> {
  const solutions = await solve(generator, problems.source, chosen, {
    count: samples,
    minimumSteps,
    sampling: plainSampling(seed, streams.bankSolutions, place),
  });
  const lines = bySampleFirst(solutions, samples).map((solution) => ({
    source: writer.name,
    writer: writerOf(writer),
    ...lineOf(problems, task, solution),
  }));
  const cut = solutions.filter(({ rollout }) => !rollout.finished).length;
  return balanced(writer.name, lines, chosen.length, cut / solutions.length);
}

function writerOf({ run, step, checkpoint, name }: BankPolicy): BankWriter {
  return checkpoint !== null && run !== null && step !== null
    ? { kind: "checkpoint", run, step }
    : { kind: "warm-start", model: name };
}

/** Each problem's first solution, then each one's second: problems stay as different as they can. */
function bySampleFirst<Item>(items: readonly Item[], samples: number): Item[] {
  return Array.from({ length: samples }, (_, sample) => sample).flatMap((sample) =>
    items.filter((_, i) => i % samples === sample)
  );
}

/** Right solutions of an embedded task, and as many with its mistakes. */
export async function writeSource(
  task: Task,
  { problems, chosen }: BankProblems,
  seed: number,
): Promise<BankSource> {
  const lines: BankSolution[] = [];
  for (const [p, problem] of (chosen as readonly Problem[]).entries()) {
    const random = new RandomStream(seed, streams.bankCorruptions, 0, p);
    const { kind, ...corrupted } = task.corruptSolution(problem, () => random.uniform());
    const written = [{ mistake: null, ...correctSolution(problem) }, {
      mistake: kind,
      ...corrupted,
    }];
    for (const { mistake, ...parts } of written) {
      const text = renderSolution(parts);
      const parsed = parseSolution(text);
      const correct = await problems.source.isCorrect(problem, parsed.answer);
      lines.push({
        source: WRITTEN_SOURCE,
        writer: { kind: "task", mistake },
        ...lineOf(problems, task.name, { problem, text, parsed, correct }),
      });
    }
  }
  return balanced(WRITTEN_SOURCE, lines, chosen.length, 0);
}

function lineOf(
  { source }: Problems,
  task: string,
  solution: Pick<Solution<unknown>, "problem" | "text" | "parsed" | "correct">,
): Omit<BankSolution, "source" | "writer"> {
  const { problem, text, correct } = solution;
  return {
    task,
    problem: source.question(problem),
    reference: source.referenceAnswer(problem),
    solution: text,
    correct,
    steps: goldStepsOf(source, solution) ?? null,
  };
}

/**
 * The first solutions of each kind, as many right as wrong, none twice.
 *
 * @param most of solutions that are kept
 */
export function balanced(
  source: string,
  lines: readonly BankSolution[],
  most: number,
  cutShare: number,
): BankSource {
  const texts = new Set<string>();
  const different = lines.filter(({ problem, solution }) => {
    const key = JSON.stringify([problem, solution]);
    return !texts.has(key) && texts.add(key);
  });
  const right = different.filter(({ correct }) => correct);
  const wrong = different.filter(({ correct }) => !correct);
  const each = Math.min(right.length, wrong.length, Math.ceil(most / 2));
  const kept = new Set([...right.slice(0, each), ...wrong.slice(0, each)]);
  return {
    source,
    different: different.length,
    right: right.length,
    cutShare,
    solutions: different.filter((line) => kept.has(line)),
  };
}
