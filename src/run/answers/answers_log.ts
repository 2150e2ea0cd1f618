import { statSync } from "../../platform/system/files.ts";
import { UserError } from "../../base/user_error.ts";
import { exists } from "../../platform/files/atomic_file.ts";
import { JsonLinesLog, readJsonLines } from "../store/json_lines_log.ts";

/** An answer as a model wrote it. */
export interface WrittenAnswer {
  readonly text: string;
  /** False when it was cut off. */
  readonly isFinished: boolean;
}

/** Answers to a problem. */
interface AnswersLine {
  /** Place of the problem among all, from 1; the first line of the file has 0 and says how they are asked. */
  readonly step: number;
  readonly answers: readonly WrittenAnswer[];
}

interface HeadLine {
  readonly step: 0;
  /** Digest of all that the answers depend on. */
  readonly asked: string;
}

/** All that a model has written so far, problem by problem in their order: what is made of it is made from here. */
export class AnswersLog implements Disposable {
  readonly #log: JsonLinesLog<AnswersLine | HeadLine>;
  readonly #answers: (readonly WrittenAnswer[])[] = [];

  /**
   * Opens the log, or begins one; a line that was cut short is taken back.
   *
   * @param asked digest of all that the answers depend on
   * @throws UserError when what is there was asked otherwise, or is damaged
   */
  constructor(path: string, asked: string) {
    const isThere = exists(path) && statSync(path).size > 0;
    this.#log = new JsonLinesLog(path, isThere ? Infinity : undefined);
    const [head, ...lines] = isThere ? readJsonLines<AnswersLine & HeadLine>(path) : [];
    if (head === undefined) {
      this.#log.append({ step: 0, asked });
    } else if (head.asked !== asked) {
      this.#log.close();
      throw new UserError(
        `${path} holds answers that were asked for otherwise (other problems, model, sampling or prompt). Take ` +
          "another output, or remove that file to begin anew.",
      );
    }
    for (const { step, answers } of lines) {
      this.#answers.push(answers);
      if (step === this.#answers.length) continue;
      this.#log.close();
      // A line was lost, or two processes wrote at once: what follows would be taken for other problems' answers.
      throw new UserError(
        `${path}: found the answers to problem ${step} where those to problem ${this.#answers.length} were expected. ` +
          "Remove that line and those after it, or the file to begin anew.",
      );
    }
  }

  /** Answers to the problems that are solved, in their order. */
  get answers(): readonly (readonly WrittenAnswer[])[] {
    return this.#answers;
  }

  /** Adds the answers to the next problems, and waits until they are on the disk. */
  append(answers: readonly (readonly WrittenAnswer[])[]): void {
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
