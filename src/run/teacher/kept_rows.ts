import type { DataRecord } from "../../data/files/record.ts";
import type { ProblemSource } from "../../rl/responses.ts";
import { generatorFormatScore } from "../../rl/text/format_score.ts";
import { parseSolution } from "../../rl/text/parse_solution.ts";
import type { TeacherConfig } from "../config/teacher_schema.ts";
import type { WrittenAnswer } from "../answers/answers_log.ts";

/** A line of what a teacher leaves: columns that `sft` reads by themselves. */
export interface KeptRow {
  readonly question: string;
  /** The reference answer; left out where there is none. */
  readonly answer?: string;
  /** What the teacher wrote. */
  readonly solution: string;
  /** Its steps, where it is in the generator's format: what `data.response: steps` imitates. */
  readonly solution_steps?: readonly string[];
  readonly source: string;
}

/** What became of a teacher's solutions. */
export interface Kept {
  readonly rows: readonly KeptRow[];
  readonly counts: {
    readonly answers: number;
    readonly finished: number;
    readonly formatted: number;
    readonly right: number;
  };
}

/** Chooses among a problem's solutions; the same text twice is kept once. */
export async function keptRows(
  source: ProblemSource<DataRecord>,
  record: DataRecord,
  answers: readonly WrittenAnswer[],
  { keep, minimum_steps: minimumSteps }: Pick<TeacherConfig, "keep" | "minimum_steps">,
): Promise<Kept> {
  const judged = await Promise.all(answers.map(async ({ text, isFinished }) => {
    const parsed = parseSolution(text);
    // Those that want steps have all they want; 1 is the whole score.
    const isFormatted = isFinished && generatorFormatScore(parsed, { minimumSteps }) === 1;
    const isRight = isFinished && await source.isCorrect(record, parsed.answer);
    const steps = parsed.steps.map(({ text }) => text);
    return { text, steps, isFinished, isFormatted, isRight };
  }));
  const kept = judged.filter(({ isFinished, isFormatted, isRight }) =>
    keep === "all" ? isFinished : isFormatted && (keep === "formatted" || isRight)
  );
  const { question, answer, source: name } = record;
  const count = (is: (one: typeof judged[number]) => boolean) => judged.filter(is).length;
  return {
    rows: [...new Map(kept.map((one) => [one.text, one])).values()].map((
      { text: solution, steps, isFormatted },
    ) => ({
      question,
      ...(answer !== null && { answer }),
      solution,
      ...(isFormatted && { solution_steps: steps }),
      source: name,
    })),
    counts: {
      answers: judged.length,
      finished: count(({ isFinished }) => isFinished),
      formatted: count(({ isFormatted }) => isFormatted),
      right: count(({ isRight }) => isRight),
    },
  };
}
