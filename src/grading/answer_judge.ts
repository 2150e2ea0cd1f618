import { equalLiterals } from "./python/compare_literal.ts";
import { equalTexts } from "./text/compare_text.ts";
import { MathematicsWorker } from "./mathematics_worker.ts";
import { spellingVerdict } from "./text/spelling_verdict.ts";

/** How a task's answers are compared: as mathematics, as words, or as Python literals. */
export type AnswerComparison = "math" | "text" | "literal";

/** An answer to be judged. */
export interface JudgedAnswer {
  readonly comparison: AnswerComparison;
  /** The model's answer; null where its response holds none, which is wrong. */
  readonly answer: string | null;
  readonly reference: string;
}

/** Settings of an `AnswerJudge`. */
export interface AnswerJudgeOptions {
  /** Milliseconds one answer may take; 2000 unless told. Starting the worker does not count. */
  readonly timeLimit?: number;
  /** Milliseconds that starting it may take; two minutes unless told. */
  readonly startLimit?: number;
  /** Verdicts remembered; 10000 unless told. */
  readonly cacheSize?: number;
  /** Module of the worker thread; answer_worker.ts unless told. */
  readonly workerModule?: URL;
}

/**
 * Judges answers without letting any of them stop the run: mathematics that takes more than its spelling
 * to compare goes to a worker thread, and an answer that exceeds the time limit is wrong. The thread
 * starts when first needed and does not keep a finished process alive.
 */
export class AnswerJudge {
  readonly #worker: MathematicsWorker;
  readonly #cacheSize: number;
  /** Verdicts by pair, oldest first; promises, so that a pair under way is not sent twice. */
  readonly #verdicts = new Map<string, Promise<boolean>>();

  constructor(
    { timeLimit = 2000, startLimit = 120_000, cacheSize = 10_000, workerModule }:
      AnswerJudgeOptions = {},
  ) {
    this.#worker = new MathematicsWorker({ start: startLimit, pair: timeLimit }, workerModule);
    this.#cacheSize = cacheSize;
  }

  /** Answers counted as wrong because they took too long. */
  get timeouts(): number {
    return this.#worker.timeouts;
  }

  /**
   * Whether one answer is correct.
   *
   * @throws GradingFailure when the worker thread gives out
   */
  isCorrect({ comparison, answer, reference }: JudgedAnswer): Promise<boolean> {
    if (answer === null) return Promise.resolve(false);
    if (comparison === "text") return Promise.resolve(equalTexts(answer, reference));
    if (comparison === "literal") return Promise.resolve(equalLiterals(answer, reference));
    const verdict = spellingVerdict(answer, reference);
    return verdict === null ? this.#remembered(answer, reference) : Promise.resolve(verdict);
  }

  /** Ends the worker thread. Answers still under way are rejected; later ones start it again. */
  close(): void {
    this.#worker.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #remembered(answer: string, reference: string): Promise<boolean> {
    const key = JSON.stringify([answer, reference]);
    const known = this.#verdicts.get(key);
    if (known !== undefined) return known;
    const verdict = this.#worker.compare({ answer, reference });
    this.#verdicts.set(key, verdict);
    verdict.catch(() => this.#verdicts.delete(key));
    if (this.#verdicts.size > this.#cacheSize) {
      const [oldest] = this.#verdicts.keys();
      this.#verdicts.delete(oldest);
    }
    return verdict;
  }
}
