import { Digest } from "../../base/digest.ts";
import { UserError } from "../../base/user_error.ts";
import { exists } from "../../base/atomic_file.ts";
import { JsonLinesLog, readJsonLines } from "../store/json_lines_log.ts";
import type { TeacherConfig } from "../config/teacher_schema.ts";

/** A solution as the teacher wrote it. */
export interface TeacherAnswer {
  readonly text: string;
  /** False when it was cut off. */
  readonly isFinished: boolean;
}

/** Solutions of a problem. */
interface AnswersLine {
  /** Place of the problem among all, from 1; the first line of the file has 0 and says how they are asked. */
  readonly step: number;
  readonly answers: readonly TeacherAnswer[];
}

interface HeadLine {
  readonly step: 0;
  /** Digest of all that the solutions depend on. */
  readonly asked: string;
}

/** All that a teacher has written so far, problem by problem in their order: what is kept of it is chosen from here. */
export class AnswersLog implements Disposable {
  readonly #log: JsonLinesLog<AnswersLine | HeadLine>;
  readonly #answers: (readonly TeacherAnswer[])[] = [];

  /**
   * Opens the log, or begins one; a line that was cut short is taken back.
   *
   * @param asked digest of all that the solutions depend on
   * @throws UserError when what is there was asked otherwise, or is damaged
   */
  constructor(path: string, asked: string) {
    const isThere = exists(path) && Deno.statSync(path).size > 0;
    this.#log = new JsonLinesLog(path, isThere ? Infinity : undefined);
    const [head, ...lines] = isThere ? readJsonLines<AnswersLine & HeadLine>(path) : [];
    if (head === undefined) {
      this.#log.append({ step: 0, asked });
    } else if (head.asked !== asked) {
      this.#log.close();
      throw new UserError(
        `${path} holds solutions that were asked for otherwise (other problems, model, sampling or prompt). Take ` +
          "another output, or remove that file to begin anew.",
      );
    }
    for (const { answers } of lines) this.#answers.push(answers);
  }

  /** Solutions of the problems that are solved, in their order. */
  get answers(): readonly (readonly TeacherAnswer[])[] {
    return this.#answers;
  }

  /** Adds the solutions of the next problems, and waits until they are on the disk. */
  append(answers: readonly (readonly TeacherAnswer[])[]): void {
    for (const some of answers) {
      this.#answers.push(some);
      this.#log.append({ step: this.#answers.length, answers: some });
    }
    this.#log.sync();
  }

  [Symbol.dispose](): void {
    this.#log.close();
  }
}

/** The digest of all that a teacher's solutions depend on, the problems and their number too; which are kept is none of it. */
export function askedDigest(
  config: TeacherConfig,
  weights: string,
  prompt: string,
  questions: readonly string[],
): string {
  const { seed, model, server, chat, system_prompt, answers, temperature, top_p } = config;
  const { max_response_length, precision, frozen_dtype, cache_dtype } = config;
  const sampling = [seed, answers, temperature, top_p, max_response_length];
  const teacher = server === null ? weights : [server.url, server.model];
  const stored = model === null ? null : [precision, frozen_dtype, cache_dtype];
  return new Digest().value([teacher, stored, chat, system_prompt, prompt, sampling, questions])
    .hex();
}
