import { writeFileAtomically } from "../../platform/files/atomic_file.ts";
import type { DataRecord } from "../../data/files/record.ts";
import type { ProblemSource } from "../../rl/responses.ts";
import type { TeacherConfig } from "../config/teacher_schema.ts";
import { answerRest, type Solver } from "../answers/answer_rest.ts";
import type { AnswersLog } from "../answers/answers_log.ts";
import { type Kept, keptRows } from "./kept_rows.ts";

/** Whoever solves problems, which are questions to it. */
export type Teacher = Solver<string>;

/** How far it is. */
export interface Taught extends Kept {
  /** Problems that are solved so far. */
  readonly problems: number;
}

/**
 * Lets a teacher solve what is not solved yet, batch by batch, and writes what is kept of all. What was killed goes on
 * with the problem after the last that is in the log, and leaves the same file.
 *
 * @param teacher asked only where something is left to solve; null where nothing is
 * @param config whose output lies in a folder that is there
 * @param tell told after each batch
 */
export async function teach(
  teacher: Teacher | null,
  source: ProblemSource<DataRecord>,
  records: readonly DataRecord[],
  log: AnswersLog,
  config: TeacherConfig,
  tell: (taught: Taught) => void = () => {},
): Promise<Taught> {
  const rows: Kept["rows"][number][] = [];
  const counts = { answers: 0, finished: 0, formatted: 0, right: 0 };
  const take = async (from: number) => {
    for (const [i, answers] of log.answers.slice(from).entries()) {
      const kept = await keptRows(source, records[from + i], answers, config);
      rows.push(...kept.rows);
      for (const name of ["answers", "finished", "formatted", "right"] as const) {
        counts[name] += kept.counts[name];
      }
    }
  };
  await take(0);
  const questions = records.map(({ question }) => question);
  for (let begin = log.answers.length; begin < records.length; begin = log.answers.length) {
    if (teacher === null) throw new Error("problems are left, and there is no teacher");
    await answerRest(questions.slice(0, begin + config.batch_size), log, teacher);
    await take(begin);
    tell({ problems: log.answers.length, rows, counts });
  }
  writeFileAtomically(config.output, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return { problems: log.answers.length, rows, counts };
}
